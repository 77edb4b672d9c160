#pragma once
// Converts TorchScript to formats that PyTorch's Python code makes.

#include <filesystem>
#include <string>
#include <string_view>

namespace flowtrain {

/// The text of convert.py.
extern const std::string_view convert_script;

/// A net to convert.
struct Conversion {
  std::string format;            ///< "onnx", "aoti", or "torchscript", which only checks the script
  std::filesystem::path script;  ///< the TorchScript file
  std::filesystem::path
      samples;  ///< pictures as the net gets them; the net's outputs are in .outputs, their shapes in .json
  std::filesystem::path out;  ///< the file to write, which appears whole or not at all
};

/// Runs convert.py with `python`, the name or path of a Python that has torch, and for "onnx" onnx and onnxruntime. Its
/// output goes where this process's does. Throws UserError(usage) if it cannot be run, or fails.
void convert(const std::string& python, const Conversion& conversion);

}  // namespace flowtrain
