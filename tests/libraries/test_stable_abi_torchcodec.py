"""The stock torchcodec wheel over our torch: what it decodes is what the ffmpeg program decodes, to the bit."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import wave
from pathlib import Path

import numpy as np
import pytest

import shim_torch as torch
from compat import disable_torch_proxy, enable_torch_proxy

if importlib.util.find_spec("torchcodec") is None:
    pytest.skip("torchcodec is not installed (make test installs it)", allow_module_level=True)
if shutil.which("ffmpeg") is None:
    pytest.skip(
        "torchcodec needs ffmpeg's libraries, and the test its program (apt-get install ffmpeg)",
        allow_module_level=True,
    )

_token = enable_torch_proxy({"torchcodec"})
from torchcodec.decoders import AudioDecoder, VideoDecoder
from torchcodec.encoders import AudioEncoder, VideoEncoder
from torchcodec.samplers import clips_at_regular_indices

HEIGHT, WIDTH, FRAMES, RATE = 64, 96, 30, 15


@pytest.fixture(scope="module", autouse=True)
def proxy():
    yield
    disable_torch_proxy(_token)


def ffmpeg(*arguments: object) -> None:
    subprocess.run(["ffmpeg", "-hide_banner", "-loglevel", "error", "-y", *map(str, arguments)], check=True)


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("video") / "source.mp4"
    source = f"testsrc2=size={WIDTH}x{HEIGHT}:rate={RATE}:duration={FRAMES // RATE}"
    ffmpeg("-f", "lavfi", "-i", source, "-pix_fmt", "yuv420p", "-c:v", "mpeg4", "-g", 10, path)
    return path


@pytest.fixture(scope="module")
def frames(video: Path) -> np.ndarray:
    """What the ffmpeg program makes of the video: (frames, height, width, 3)."""
    raw = video.with_suffix(".rgb")
    ffmpeg("-i", video, "-f", "rawvideo", "-pix_fmt", "rgb24", raw)
    return np.fromfile(raw, np.uint8).reshape(-1, HEIGHT, WIDTH, 3)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "sine.wav"
    ffmpeg("-f", "lavfi", "-i", "sine=frequency=440:sample_rate=44100:duration=1", path)
    return path


def samples_of(path: Path) -> np.ndarray:
    with wave.open(str(path)) as file:
        return np.frombuffer(file.readframes(file.getnframes()), np.int16) / np.float32(32768)


def test_metadata(video):
    about = VideoDecoder(video).metadata
    assert (about.num_frames, about.height, about.width, about.average_fps) == (FRAMES, HEIGHT, WIDTH, RATE)


def test_frames_one_by_one(video, frames):
    decoder = VideoDecoder(video)
    assert len(decoder) == len(frames) == FRAMES
    for i in range(FRAMES):
        frame = decoder[i]
        assert isinstance(frame, torch.Tensor) and frame.dtype == torch.uint8
        np.testing.assert_array_equal(frame.permute(1, 2, 0).numpy(), frames[i])


def test_iteration_ends_by_the_kernel_s_index_error(video):
    assert len(list(VideoDecoder(video))) == FRAMES
    with pytest.raises(IndexError, match="must be less than"):
        VideoDecoder(video).get_frame_at(FRAMES)


def test_frames_by_index_range_and_time(video, frames):
    decoder = VideoDecoder(video, dimension_order="NHWC")
    np.testing.assert_array_equal(decoder.get_frames_at([15, 1, 7]).data.numpy(), frames[[15, 1, 7]])
    np.testing.assert_array_equal(decoder.get_frames_in_range(3, 20, 4).data.numpy(), frames[3:20:4])
    played = decoder.get_frame_played_at(0.5)
    np.testing.assert_array_equal(played.data.numpy(), frames[7])
    assert played.pts_seconds == pytest.approx(7 / RATE)
    batch = decoder.get_frames_played_in_range(0.2, 0.6)
    np.testing.assert_allclose(batch.pts_seconds.numpy(), np.arange(3, 9) / RATE, rtol=0, atol=1e-12)


def test_from_bytes_and_from_a_file_object(video, frames):
    assert (VideoDecoder(video.read_bytes())[4].permute(1, 2, 0).numpy() == frames[4]).all()
    with video.open("rb") as file:  # the wheel's reader calls Python back from its own code
        assert (VideoDecoder(file)[5].permute(1, 2, 0).numpy() == frames[5]).all()


def test_clips(video, frames):
    clips = clips_at_regular_indices(VideoDecoder(video), num_clips=3, num_frames_per_clip=2)
    assert clips.data.shape == (3, 2, 3, HEIGHT, WIDTH)
    np.testing.assert_array_equal(clips.data[0, 0].permute(1, 2, 0).numpy(), frames[0])


def test_audio(sound):
    samples = AudioDecoder(sound).get_all_samples()
    assert samples.sample_rate == 44100
    np.testing.assert_array_equal(samples.data.numpy()[0], samples_of(sound))
    part = AudioDecoder(sound.read_bytes()).get_samples_played_in_range(0.25, 0.5)
    np.testing.assert_array_equal(part.data.numpy()[0], samples_of(sound)[11025:22050])


def test_audio_is_encoded_without_loss(sound, tmp_path):
    samples = AudioDecoder(sound).get_all_samples()
    AudioEncoder(samples.data, sample_rate=44100).to_file(tmp_path / "copy.wav")
    np.testing.assert_array_equal(samples_of(tmp_path / "copy.wav"), samples_of(sound))


def test_video_is_encoded(frames):
    data = torch.from_numpy(np.ascontiguousarray(frames.transpose(0, 3, 1, 2)))
    encoded = VideoEncoder(data, frame_rate=RATE).to_tensor(
        format="mp4", crf=0, pixel_format="yuv444p", codec="libx264"
    )
    back = VideoDecoder(encoded)
    assert len(back) == FRAMES
    assert np.abs(back[3].permute(1, 2, 0).numpy().astype(int) - frames[3]).mean() < 3


def test_errors_of_the_wheel():
    with pytest.raises(RuntimeError, match="Could not open input file: /no/such.mp4"):
        VideoDecoder("/no/such.mp4")
    with pytest.raises((RuntimeError, ValueError)):
        VideoDecoder(b"this is no video")
