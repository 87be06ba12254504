"""Arrays of NumPy, and of CuPy where there is a GPU, share their memory with tensors; nothing is copied."""

from compat import enable_torch_proxy

enable_torch_proxy(scope={"__main__"})

import numpy as np
import torch


def numpy_arrays() -> None:
    """A tensor over a NumPy array's memory, and an array over a tensor's."""
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    tensor = torch.from_numpy(array)
    tensor.mul_(10)
    assert array[1, 2] == 50
    back = tensor.t().numpy()  # a view, with NumPy's strides
    back[0, 1] = -1
    assert array[1, 0] == -1 and np.shares_memory(array, back)
    exchanged = torch.from_dlpack(array)
    assert exchanged.data_ptr() == array.ctypes.data
    assert np.shares_memory(np.from_dlpack(tensor), array)
    print(f"NumPy: one memory at {tensor.data_ptr():#x}\n{array}")


def cupy_arrays() -> None:
    """A tensor over a CuPy array's memory, and an array over a tensor's."""
    import cupy

    array = cupy.arange(6, dtype=cupy.float32).reshape(2, 3)
    tensor = torch.as_tensor(array)
    assert tensor.is_cuda and tensor.data_ptr() == array.data.ptr
    tensor.mul_(10)
    assert float(array[1, 2]) == 50
    back = cupy.from_dlpack(tensor)
    assert back.data.ptr == array.data.ptr
    half = torch.empty(4, dtype=torch.float16, device="cuda")
    cupy.asarray(half)[...] = 3
    assert half.tolist() == [3.0] * 4
    print(f"CuPy: one memory at {tensor.data_ptr():#x}\n{array}")


def main() -> None:
    """Runs both; CuPy's where there is a GPU."""
    numpy_arrays()
    if torch.cuda.is_available():
        cupy_arrays()
    else:
        print("CuPy: no GPU here")


if __name__ == "__main__":
    main()
