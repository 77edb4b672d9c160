#include "nets/package/weights.h"

#include <ATen/ATen.h>

#include <cstring>
#include <stdexcept>

#include "sampling/core/safetensors.h"

namespace flowtrain::nets {

namespace {

at::ScalarType type_of(const std::string& safetensors_name) {
  if (safetensors_name == "F64") return at::kDouble;
  if (safetensors_name == "F32") return at::kFloat;
  if (safetensors_name == "F16") return at::kHalf;
  if (safetensors_name == "BF16") return at::kBFloat16;
  if (safetensors_name == "I64") return at::kLong;
  if (safetensors_name == "I32") return at::kInt;
  if (safetensors_name == "I16") return at::kShort;
  if (safetensors_name == "I8") return at::kChar;
  return safetensors_name == "U8" ? at::kByte : at::kBool;
}

}  // namespace

NamedTensors read_weights(const PackageArchive& archive) {
  const ArchiveRecord record = archive.read("weights.safetensors");
  SafetensorsContent content;
  try {
    content = parse_safetensors(record.bytes(), archive.path());
  } catch (const std::exception& error) {
    throw archive.error(std::string("its weights.safetensors is damaged: ") + error.what());
  }
  NamedTensors weights;
  for (const TensorView& each : content.tensors) {
    const at::Tensor tensor = at::empty(each.shape, at::TensorOptions(type_of(each.dtype)));
    std::memcpy(tensor.data_ptr(), each.data, each.bytes);
    weights.add(each.name, tensor);
  }
  return weights;
}

}  // namespace flowtrain::nets
