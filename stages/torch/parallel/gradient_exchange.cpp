#include "stages/torch/parallel/gradient_exchange.h"

#include <algorithm>

namespace flowtrain {

namespace {

double seconds(std::chrono::steady_clock::duration span) { return std::chrono::duration<double>(span).count(); }

}  // namespace

void ExchangeTimes::begin() {
  MutexLock lock(mutex_);
  buckets_.clear();
  complete_ = false;
}

std::size_t ExchangeTimes::launched(bool last) {
  MutexLock lock(mutex_);
  complete_ |= last;
  buckets_.push_back({Clock::now(), {}});
  return buckets_.size() - 1;
}

void ExchangeTimes::done(std::size_t bucket) {
  MutexLock lock(mutex_);
  buckets_.at(bucket).to = Clock::now();
}

bool ExchangeTimes::complete() const {
  MutexLock lock(mutex_);
  return complete_;
}

ExchangeTimes::Summary ExchangeTimes::summary() const {
  MutexLock lock(mutex_);
  Summary sum;
  if (buckets_.empty()) return sum;
  Clock::time_point until{};  // of what is summed up so far
  for (auto& [from, to] : buckets_) {
    if (to <= until) continue;
    sum.busy_s += seconds(to - std::max(from, until));
    until = to;
  }
  sum.exposed_s = std::max(0.0, seconds(until - buckets_.back().from));
  return sum;
}

c10::intrusive_ptr<c10::ivalue::Future> GradientExchange::runHook(c10d::GradBucket& bucket) {
  at::Tensor& whole = bucket.getBufferRef();
  const auto parameters = bucket.getParameters();
  const bool exact = std::any_of(parameters.begin(), parameters.end(), [&](auto& p) { return p.is_same(exact_); });
  const bool casts = wire_ && !exact && whole.scalar_type() != *wire_;

  whole.div_(state_->getSize());  // before the sum, which might overflow
  std::vector<at::Tensor> sent{casts ? whole.to(*wire_) : whole};
  const std::size_t number = times_.launched(bucket.isLast());
  if (bucket.isLast()) stalls_.wait_begins();
  auto arrival = state_->allreduce(sent)->getFuture();
  return arrival->then(
      [&times = times_, number, whole, sent = sent.front(), casts](c10::ivalue::Future& done) {
        done.value();  // throws what the collective threw
        if (casts) whole.copy_(sent);
        times.done(number);
        return c10::IValue(whole);
      },
      c10::TensorType::get());
}

}  // namespace flowtrain
