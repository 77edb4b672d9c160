#include "stages/torch/readout.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace flowtrain {

namespace {

at::Tensor on_host(const at::Tensor& values) {
  if (values.is_cpu()) return values;
  // The driver would copy piece by piece to memory that is not page-locked.
  at::Tensor there = at::empty(values.sizes(), at::TensorOptions(values.scalar_type()).pinned_memory(true));
  there.copy_(values, /*non_blocking=*/true);
  c10::Event arrived(values.device().type());
  arrived.record(c10::impl::VirtualGuardImpl(values.device().type()).getStream(values.device()));
  arrived.synchronize();
  return there;
}

}  // namespace

std::size_t Readout::ask(const at::Tensor& values) {
  std::size_t count = 0;
  if (values.defined()) {
    asked_.push_back(values.detach().reshape({-1}).to(at::kDouble));
    count = static_cast<std::size_t>(values.numel());
  }
  begins_.push_back(begins_.back() + count);
  return begins_.size() - 2;
}

void Readout::fetch() {
  RECORD_USER_SCOPE("values to the host");
  if (!asked_.empty()) values_ = on_host(asked_.size() == 1 ? asked_.front().contiguous() : at::cat(asked_));
}

std::span<const double> Readout::operator[](std::size_t answer) const {
  const std::size_t begin = begins_.at(answer), count = begins_.at(answer + 1) - begin;
  return count == 0 ? std::span<const double>() : std::span(values_.const_data_ptr<double>() + begin, count);
}

}  // namespace flowtrain
