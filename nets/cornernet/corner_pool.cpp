#include "nets/cornernet/corner_pool.h"

#include <ATen/ATen.h>
#include <ATen/TracerMode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/autograd.h>
#include <torch/library.h>

#include <limits>
#include <optional>
#include <stdexcept>

#include "nets/cornernet/running_max.h"

// The two kernels are operators of torch's dispatcher: running_max.h has those of the CPU, libflowtrain_cuda.so
// registers those of a GPU. Both treat tensors as blocks of memory, as running_max.h describes.
TORCH_LIBRARY_FRAGMENT(flowtrain, library) {
  library.def(
      "running_max(Tensor x, int length, int inner, bool backwards, Tensor(a!) y,"
      " Tensor(b!)? replaced) -> ()");
  library.def(
      "running_max_backward(Tensor g, Tensor replaced, int length, int inner, bool backwards, Tensor(a!) gx)"
      " -> ()");
}

namespace flowtrain::nets {
namespace {

using namespace cornernet;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

TORCH_LIBRARY_IMPL(flowtrain, CPU, library) {
  library.impl("running_max", running_max_cpu);
  library.impl("running_max_backward", running_max_backward_cpu);
}

/// The layout of a direction's sequences in the memory of a tensor.
struct Lines {
  std::int64_t length, inner;
  bool backwards;
};

Lines lines(const at::Tensor& x, CornerPool direction, at::MemoryFormat format) {
  const std::int64_t channels = format == at::MemoryFormat::ChannelsLast ? x.size(1) : 1;
  switch (direction) {
    case CornerPool::top: return {x.size(2), x.size(3) * channels, true};
    case CornerPool::bottom: return {x.size(2), x.size(3) * channels, false};
    case CornerPool::left: return {x.size(3), channels, true};
    case CornerPool::right: return {x.size(3), channels, false};
  }
  throw std::invalid_argument("corner_pool: no such direction");
}

/// Returns the pooled map; `replaced`, if given, becomes what the gradient needs.
at::Tensor pool(const at::Tensor& image, CornerPool direction, at::Tensor* replaced) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const auto format = image.suggest_memory_format();
  const at::Tensor x = image.contiguous(format);
  const Lines along = lines(x, direction, format);
  at::Tensor y = at::empty_like(x, format);
  std::optional<at::Tensor> marks;
  if (replaced) marks = *replaced = at::empty_like(x, x.options().dtype(at::kByte), format);
  static const auto forward =
      c10::Dispatcher::singleton().findSchemaOrThrow("flowtrain::running_max", "").typed<decltype(running_max_cpu)>();
  forward.call(x, along.length, along.inner, along.backwards, y, marks);
  return y;
}

/// Pools with torch's own operations, for a trace: other programs lack the kernels, and ONNX has no running maximum.
/// Each round doubles how far an element looks.
at::Tensor pool_for_trace(const at::Tensor& x, CornerPool direction) {
  const std::int64_t dim = direction == CornerPool::top || direction == CornerPool::bottom ? 2 : 3;
  const bool backwards = direction == CornerPool::top || direction == CornerPool::left;
  const std::int64_t length = x.size(dim);
  at::Tensor y = x;
  for (std::int64_t step = 1; step < length; step *= 2) {
    const at::Tensor none = at::full_like(y.narrow(dim, 0, step), -std::numeric_limits<double>::infinity());
    const at::Tensor others = y.narrow(dim, backwards ? step : 0, length - step);
    y = at::maximum(y, backwards ? at::cat({others, none}, dim) : at::cat({none, others}, dim));
  }
  return y;
}

class Pooling : public torch::autograd::Function<Pooling> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& image, CornerPool direction) {
    at::Tensor replaced;
    at::Tensor y = pool(image, direction, &replaced);
    context->save_for_backward({replaced});
    context->saved_data["direction"] = static_cast<std::int64_t>(direction);
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const at::Tensor replaced = context->get_saved_variables()[0];
    const auto direction = static_cast<CornerPool>(context->saved_data["direction"].toInt());
    const auto format = replaced.suggest_memory_format();
    const at::Tensor g = gradients[0].contiguous(format);
    const Lines along = lines(g, direction, format);
    at::Tensor gx = at::empty_like(g, format);
    static const auto backward = c10::Dispatcher::singleton()
                                     .findSchemaOrThrow("flowtrain::running_max_backward", "")
                                     .typed<decltype(running_max_backward_cpu)>();
    backward.call(g, replaced, along.length, along.inner, along.backwards, gx);
    return {gx, {}};
  }
};

bool is_supported(at::ScalarType type) {
  return type == at::kFloat || type == at::kDouble || type == at::kHalf || type == at::kBFloat16;
}

}  // namespace

at::Tensor corner_pool(const at::Tensor& x, CornerPool direction) {
  if (x.dim() != 4 || !is_supported(x.scalar_type())) {
    throw std::invalid_argument(c10::str("corner_pool: ", x.scalar_type(), " of shape ", x.sizes(),
                                         ", expected (B, C, H, W) of float, double, half or bfloat16"));
  }
  if (at::tracer::impl::is_dispatch_enabled()) return pool_for_trace(x, direction);
  const bool learns = at::GradMode::is_enabled() && x.requires_grad();
  return learns ? Pooling::apply(x, direction) : pool(x, direction, nullptr);
}

}  // namespace flowtrain::nets
