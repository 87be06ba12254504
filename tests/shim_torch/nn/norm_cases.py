"""Normalisation: parameters, statistics, modes, old checkpoints, conversion to ``SyncBatchNorm``."""

from collections import OrderedDict


def names(torch):
    """What the expressions use."""
    nn = torch.nn
    x3, x4 = torch.arange(24.0).reshape(2, 3, 4) / 7, torch.arange(72.0).reshape(2, 3, 3, 4) / 11
    B1, B2, I1, I2, S = nn.BatchNorm1d, nn.BatchNorm2d, nn.InstanceNorm1d, nn.InstanceNorm2d, nn.SyncBatchNorm

    def run(cls, x, *, training=True, times=2, before=None, **settings):
        """The last output and the statistics."""
        layer = cls(3, **settings).train(training)
        if before is not None:
            before(layer)
        for _ in range(times):
            y = layer(x)
        return y, layer.running_mean, layer.running_var, layer.num_batches_tracked

    def load(cls, version, *, counted, track=True, meta=False):
        """Loads the state that a version of the class saved."""
        state = cls(3, track_running_stats=True).state_dict()
        if version is None:
            del state._metadata
        else:
            state._metadata[""]["version"] = version
        if not counted:
            del state["num_batches_tracked"]
        with torch.device("meta" if meta else "cpu"):
            layer = cls(3, track_running_stats=track)
        if track and not meta:
            layer.num_batches_tracked.fill_(5)
        return layer.load_state_dict(state), layer.num_batches_tracked, list(state)

    def unset(*attributes):
        return lambda layer: [setattr(layer, name, None) for name in attributes]

    def untrack(layer):
        layer.track_running_stats = False

    def converted():
        a, n = B1(3, momentum=0.3), nn.BatchNorm3d(1, track_running_stats=False, eps=0.1).eval()
        a.qconfig, weight, mean = 7, a.weight, a.running_mean
        inner = nn.Sequential(B2(2, affine=False))
        whole = nn.Sequential(OrderedDict(a=a, b=inner, c=nn.ReLU(), i=I1(2), n=n, x=B1(2, bias=False)))
        s = S.convert_sync_batchnorm(whole, 9)
        same = [s is whole, s.b is inner, s.a.weight is weight, s.a.running_mean is mean]
        return str(s), same, s.a.qconfig, s.a.process_group, s.n.training, s.a.training, list(s.state_dict()), s.x.bias

    class Own(S):
        pass

    return locals()


CASES = """
nn.LayerNorm(3)
nn.LayerNorm((2, 3), bias=False)
list(nn.LayerNorm(3, elementwise_affine=False)._parameters)
nn.LayerNorm(3, dtype=torch.float64).bias
nn.RMSNorm(3)
nn.RMSNorm((2, 3), 1e-3).weight
nn.RMSNorm(3, elementwise_affine=False).weight
nn.RMSNorm([3], device="meta").weight
nn.RMSNorm(4)(x3)
list(nn.RMSNorm(3, elementwise_affine=False)._parameters)
nn.GroupNorm(1, 3)
nn.GroupNorm(1, 3, affine=False).weight
nn.GroupNorm(1, 3, bias=False).bias
nn.GroupNorm(2, 3)
B1(3)
B2(3, affine=True, bias=False, momentum=None)
list(B1(3).state_dict())
B1(3)(x4)
B2(3)(x3[0])
run(B1, x3)
run(B2, x4)
run(B2, x4, training=False)
run(B2, x4, momentum=None, times=3)
run(B2, x4, momentum=0)
run(B2, x4, track_running_stats=False)
run(B2, x4, track_running_stats=False, training=False)
run(B2, x4, affine=False)
run(B2, x4, before=unset("num_batches_tracked"))
run(B2, x4, before=unset("running_mean", "running_var"), training=False)
run(B2, x4, before=unset("running_mean"), training=False)
run(B2, x4, before=untrack)
run(B2, x4, before=untrack, training=False)
run(S, x4)
run(I1, x3)
run(I2, x4, track_running_stats=True, affine=True)
run(I2, x4, track_running_stats=True, training=False)
I1(4, affine=True)(x3)
I1(4)(x3)
I1(3)(x3[0]).shape
[load(B1, v, counted=False) for v in (None, 1)]
[load(B1, v, counted=True) for v in (None, 1, 2)]
load(B1, 2, counted=False)
load(B1, None, counted=False, meta=True)[1].shape
load(B1, None, counted=False, track=False)
[load(I1, v, counted=False) for v in (None, 1)]
load(I1, None, counted=False, track=False)
load(I1, 1, counted=False, track=False)
load(I1, 2, counted=True, track=False)
converted()
type(Own.convert_sync_batchnorm(B1(2))).__name__
S.convert_sync_batchnorm(nn.ReLU())
S.convert_sync_batchnorm(S(2))
S.convert_sync_batchnorm(B1(3, dtype=torch.float64)).weight
"""
