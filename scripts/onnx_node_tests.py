"""Writes the node tests of the onnx package into FOLDER/node, a folder a case, and copies those of old exporters beside it.

A case has `model.onnx` and folders `test_data_set_N` of `input_N.pb` and `output_N.pb`. The same packages make the same bytes.

    PYTHONPATH=.onnxruntime python3 scripts/onnx_node_tests.py FOLDER
"""

import pathlib
import shutil
import sys

import onnx
from onnx import TensorProto, numpy_helper
from onnx.backend.test.case.node import collect_testcases

COPIED = ["pytorch-converted", "pytorch-operator"]


def serialised(value, declared):
    """A value of a declared input or output, as bytes."""
    kind = declared.type.WhichOneof("value")
    if isinstance(value, TensorProto):
        return value.SerializeToString()
    if kind == "sequence_type":
        return numpy_helper.from_list(value, declared.name).SerializeToString()
    if kind == "optional_type":
        return numpy_helper.from_optional(value, declared.name).SerializeToString()
    return numpy_helper.from_array(value, declared.name).SerializeToString()


def write(case, folder):
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    graph = case.model.graph
    for number, (inputs, outputs) in enumerate(case.data_sets):
        data = folder / f"test_data_set_{number}"
        data.mkdir()
        for kind, values, declared in [("input", inputs, graph.input), ("output", outputs, graph.output)]:
            for at, value in enumerate(values):
                (data / f"{kind}_{at}.pb").write_bytes(serialised(value, declared[at]))


def main():
    folder = pathlib.Path(sys.argv[1])
    # The cases print what they try.
    printed, sys.stdout = sys.stdout, sys.stderr
    cases = collect_testcases(None)
    sys.stdout = printed
    for case in cases:
        write(case, folder / "node" / case.name)
    data = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data"
    for name in COPIED:
        shutil.copytree(data / name, folder / name)
    print(f"onnx {onnx.__version__}: {len(cases)} node tests in {folder / 'node'}, and {', '.join(COPIED)}")


if __name__ == "__main__":
    main()
