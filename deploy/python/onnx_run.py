"""Checks ONNX files of `switchyard export` with the onnx package, and computes them with numpy.

usage: python3 onnx_run.py FILE.onnx < inputs.json > outputs.json      inputs and outputs: {name: [[row], ...]}

A runtime such as onnxruntime does the same faster; this script serves where only Debian's python3-onnx is at hand.
"""
import json
import sys

import numpy as np
import onnx
from onnx import numpy_helper, shape_inference

from switchyard import OPERATIONS

model = onnx.load(sys.argv[1])
onnx.checker.check_model(model, full_check=True)
shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
values = {w.name: numpy_helper.to_array(w).astype(np.float64) for w in model.graph.initializer}
given = json.load(sys.stdin)
for v in model.graph.input:
    values[v.name] = np.array(given[v.name], np.float64)
for node in model.graph.node:
    values[node.output[0]] = OPERATIONS[node.op_type](*(values[i] for i in node.input))
json.dump({v.name: values[v.name].tolist() for v in model.graph.output}, sys.stdout)
