#include "stages/torch/validation/own_draws.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/_fused_dropout.h>
#include <ATen/ops/native_dropout_ops.h>
#include <torch/library.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace flowtrain {

namespace {

// Operators pass here before all else while a thread's set of keys includes it. LibTorch has nothing at this one.
constexpr auto key = c10::DispatchKey::TESTING_ONLY_GenericMode;
const c10::DispatchKeySet further(c10::DispatchKeySet::FULL_AFTER, key);

thread_local OwnDraws* of_this_thread = nullptr;

// Null stands for the process's generators. LibTorch hands the keys of a thread on to those that work for it, but not
// this pointer.
const at::Generator* generator_for(at::Device device) { return of_this_thread ? of_this_thread->on(device) : nullptr; }

bool takes_generator(const c10::Argument& argument) {
  return *argument.type() == *c10::getTypePtr<std::optional<at::Generator>>();
}

bool takes_generator(const c10::FunctionSchema& schema) {
  const auto& arguments = schema.arguments();
  return std::any_of(arguments.begin(), arguments.end(), [](auto& each) { return takes_generator(each); });
}

// Returns the device on which an operator computes: it is an argument, or that of a tensor among the arguments.
at::Device device_of(c10::ArrayRef<c10::IValue> values) {
  for (const auto& value : values) {
    if (value.isTensor() && value.toTensor().defined()) return value.toTensor().device();
    if (value.isDevice()) return value.toDevice();
  }
  return at::kCPU;
}

void draw(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const auto& arguments = op.schema().arguments();
  const auto* generator = generator_for(device_of(torch::jit::last(*stack, arguments.size())));
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    auto& value = torch::jit::peek(*stack, i, arguments.size());
    if (generator && takes_generator(arguments[i]) && value.isNone()) value = *generator;
  }
  op.redispatchBoxed(keys & further, stack);
}

// This operator draws from the process's generator on a GPU; an older one computes the same with any.
std::tuple<at::Tensor, at::Tensor> drop_out(c10::DispatchKeySet keys, const at::Tensor& input, double p,
                                            std::optional<bool> train) {
  const auto* generator = generator_for(input.device());
  if (input.is_cpu() || !generator || !train.value_or(true) || p == 1)
    return at::_ops::native_dropout::redispatch(keys & further, input, p, train);
  auto [output, mask] = at::_fused_dropout(input, 1 - p, *generator);
  return {output, mask.to(at::kBool)};
}

void take_part_in_dispatch() {
  static torch::Library all(torch::Library::IMPL, "_", key, __FILE__, __LINE__),
      some(torch::Library::IMPL, "aten", key, __FILE__, __LINE__);
  all.fallback(torch::CppFunction::makeFallthrough());
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const auto& name : dispatcher.getAllOpNames())
    if (name.getNamespace() == "aten" && takes_generator(dispatcher.findSchema(name)->schema()))
      some.impl(toString(name).c_str(), torch::CppFunction::makeFromBoxedFunction<&draw>());
  some.impl("native_dropout", &drop_out);
}

}  // namespace

OwnDraws::OwnDraws(at::Device device) : device_(device), cpu_(at::detail::createCPUGenerator()) {
  static const bool once = (take_part_in_dispatch(), true);
  static_cast<void>(once);
  if (!device.is_cpu())
    gpu_ = at::globalContext().getAcceleratorHooksInterface(device.type()).getNewGenerator(device.index());
}

void OwnDraws::seed(std::uint64_t seed) {
  cpu_.set_current_seed(seed);
  if (gpu_) gpu_->set_current_seed(seed);
}

const at::Generator* OwnDraws::on(at::Device device) const {
  if (device.is_cpu()) return &cpu_;
  return gpu_ && device.type() == device_.type() ? &*gpu_ : nullptr;
}

OwnDraws::Scope::Scope(OwnDraws& draws) : enters_(key), before_(std::exchange(of_this_thread, &draws)) {}
OwnDraws::Scope::~Scope() { of_this_thread = before_; }

}  // namespace flowtrain
