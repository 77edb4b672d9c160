#include "tests/parity/tensor_files.h"

#include <ATen/ops/empty.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "pipeline/base/snapshot/file.h"
#include "pipeline/base/snapshot/safetensors.h"

namespace flowtrain::parity {
namespace {

struct Type {
  const char* name;
  at::ScalarType type;
};
constexpr std::array types{Type{"F64", at::kDouble},    Type{"F32", at::kFloat}, Type{"F16", at::kHalf},
                           Type{"BF16", at::kBFloat16}, Type{"I64", at::kLong},  Type{"I32", at::kInt},
                           Type{"I16", at::kShort},     Type{"I8", at::kChar},   Type{"U8", at::kByte},
                           Type{"BOOL", at::kBool}};

at::ScalarType type_of(const std::string& name) {
  for (auto& each : types)
    if (name == each.name) return each.type;
  throw std::invalid_argument("tensors of " + name + " are not read");
}

std::string name_of(at::ScalarType type) {
  for (auto& each : types)
    if (type == each.type) return each.name;
  throw std::invalid_argument(std::string("tensors of ") + at::toString(type) + " are not written");
}

}  // namespace

nets::NamedTensors read_tensors(const std::string& path, std::map<std::string, std::string>* metadata) {
  const SafetensorsFile file(path);
  if (metadata) *metadata = file.metadata();
  nets::NamedTensors tensors;
  for (auto& view : file.tensors()) {
    auto tensor = at::empty(view.shape, at::TensorOptions(type_of(view.dtype)));
    if (view.bytes > 0) std::memcpy(tensor.mutable_data_ptr(), view.data, view.bytes);
    tensors.set(view.name, tensor);
  }
  return tensors;
}

void write_tensors(const std::string& path, const nets::NamedTensors& tensors) {
  std::vector<at::Tensor> kept;
  std::vector<TensorView> views;
  for (auto& [name, tensor] : tensors) {
    kept.push_back(tensor.detach().to(at::kCPU).contiguous());
    views.push_back({name, name_of(tensor.scalar_type()), tensor.sizes().vec(),
                     static_cast<const std::byte*>(kept.back().const_data_ptr()), kept.back().nbytes()});
  }
  std::filesystem::remove(path);
  auto file = File::create(path);
  write_safetensors(file, views);
}

}  // namespace flowtrain::parity
