"""``torch.onnx._internal.torchscript_exporter._globals``: the exporter's state, which a library asks (``in_onnx_export``) or sets."""

from __future__ import annotations

from shim_torch.onnx import OperatorExportTypes, TrainingMode


class _InternalGlobals:
    """Values of an export under way. There is no exporter here, so ``in_onnx_export`` is what a library made it."""

    def __init__(self) -> None:
        self._training_mode = TrainingMode.EVAL
        self._in_onnx_export = False
        self._autograd_inlining = True
        self.export_onnx_opset_version = 20
        self.export_training = False
        self.operator_export_type = OperatorExportTypes.ONNX
        self.onnx_shape_inference = True

    @property
    def training_mode(self) -> TrainingMode:
        """The mode of the export."""
        return self._training_mode

    @training_mode.setter
    def training_mode(self, training_mode: TrainingMode) -> None:
        if not isinstance(training_mode, TrainingMode):
            raise TypeError(
                "training_mode must be of type 'torch.onnx.TrainingMode'. This is likely a bug in torch.onnx."
            )
        self._training_mode = training_mode

    @property
    def in_onnx_export(self) -> bool:
        """Whether a model is being exported."""
        return self._in_onnx_export

    @in_onnx_export.setter
    def in_onnx_export(self, value: bool) -> None:
        if type(value) is not bool:
            raise TypeError("in_onnx_export must be a boolean")
        self._in_onnx_export = value

    @property
    def autograd_inlining(self) -> bool:
        """Whether functions of ``torch.autograd.Function`` are exported as what they call."""
        return self._autograd_inlining

    @autograd_inlining.setter
    def autograd_inlining(self, value: bool) -> None:
        if type(value) is not bool:
            raise TypeError("autograd_inlining must be a boolean")
        self._autograd_inlining = value


GLOBALS = _InternalGlobals()
