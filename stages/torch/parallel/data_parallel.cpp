#include "stages/torch/parallel/data_parallel.h"

#include <torch/types.h>
#include <torch/utils.h>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include "sampling/core/error.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "stages/torch/named.h"

namespace flowtrain {

namespace {

constexpr auto tick = std::chrono::milliseconds(5);
constexpr double tolerance_s = 0.010;  // a scheduler with little to do is late by less

double seconds(std::chrono::steady_clock::duration span) { return std::chrono::duration<double>(span).count(); }

constexpr auto flag_count = static_cast<std::int64_t>(all_flags);  // number of values at the end of the control tensor

std::size_t bytes_of(double megabytes) { return static_cast<std::size_t>(megabytes * 1024 * 1024); }

// torch/nn/parallel/distributed.py makes the same calls.
std::unique_ptr<c10d::Reducer> make_reducer(const TorchGroup& group, const std::vector<at::Tensor>& parameters,
                                            const nets::NamedTensors& named, const DataParallelOptions& options) {
  const std::size_t first = bytes_of(options.first_bucket_mb), most = bytes_of(options.bucket_mb);
  const std::vector<bool> sparse(parameters.size(), false);
  auto buckets = std::get<0>(c10d::compute_bucket_assignment_by_size(parameters, {first, most}, sparse));
  std::reverse(buckets.begin(), buckets.end());  // gradients arrive in roughly the reverse order of the parameters
  std::unordered_map<std::size_t, std::string> names{{0, "control"}};
  for (auto& [name, tensor] : named)
    if (tensor.requires_grad()) names.emplace(names.size(), name);
  auto reducer = std::make_unique<c10d::Reducer>(
      parameters, std::move(buckets), group.processes(), sparse, static_cast<std::int64_t>(most), options.find_unused,
      /*gradient_as_bucket_view=*/true, std::move(names), static_cast<std::int64_t>(first),
      /*skip_all_reduce_unused_params=*/false, /*use_python_reducer=*/false, std::vector<std::int64_t>{});
  return reducer;
}

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
  Clock::time_point until{};  // end of the time summed so far
  for (auto& [from, to] : buckets_) {
    if (to <= until) continue;
    sum.busy_s += seconds(to - std::max(from, until));
    until = to;
  }
  sum.exposed_s = std::max(0.0, seconds(until - buckets_.back().from));
  return sum;
}

StallMeter::StallMeter() : thread_([this](const std::stop_token& stop) { watch(stop); }) {}

double StallMeter::take(double most_s) {
  MutexLock lock(mutex_);
  const double taken = std::min(stalled_s_, most_s);
  stalled_s_ -= taken;
  return taken;
}

void StallMeter::watch(const std::stop_token& stop) {
  using Clock = std::chrono::steady_clock;
  while (!stop.stop_requested()) {
    const bool before = waiting_;
    const auto begin = Clock::now();
    std::this_thread::sleep_for(tick);
    const double late_s = seconds(Clock::now() - begin - tick);
    if (late_s < tolerance_s || !(before || waiting_)) continue;
    MutexLock lock(mutex_);
    stalled_s_ += late_s;
  }
}

namespace {

// NCCL divides while it sums, which saves a GPU a pass over each bucket. Gloo only sums.
bool divides(c10d::ProcessGroup& processes, at::Device where) {
  return where.is_cuda() && processes.getBackend(where.type())->getBackendName() == "nccl";
}

}  // namespace

c10::intrusive_ptr<c10::ivalue::Future> GradientExchange::runHook(c10d::GradBucket& bucket) {
  at::Tensor& whole = bucket.getBufferRef();
  const auto parameters = bucket.getParameters();
  const bool exact = std::any_of(parameters.begin(), parameters.end(), [&](auto& p) { return p.is_same(exact_); });
  const bool casts = wire_ && !exact && whole.scalar_type() != *wire_;

  // The division comes before the sum, which might overflow.
  c10d::AllreduceOptions options;
  std::vector<at::Tensor> sent{whole};
  if (casts)
    at::div_out(sent.front() = at::empty_like(whole, *wire_), whole, at::scalar_tensor(state_->getSize()));
  else if (divides(*state_, whole.device()))
    options.reduceOp = c10d::ReduceOp::AVG;
  else
    whole.div_(state_->getSize());
  const std::size_t number = times_.launched(bucket.isLast());
  if (bucket.isLast()) stalls_.wait_begins();
  auto arrival = state_->allreduce(sent, options)->getFuture();
  return arrival->then(
      [&times = times_, number, whole, sent = sent.front(), casts](c10::ivalue::Future& done) {
        done.value();  // throws what the collective threw
        if (casts) whole.copy_(sent);
        times.done(number);
        return c10::IValue(whole);
      },
      c10::TensorType::get());
}

DataParallelOptions parallel_options(const Settings& dist) {
  DataParallelOptions options;
  options.bucket_mb = dist.real("bucket_mb");
  options.first_bucket_mb = dist.real("first_bucket_mb");
  options.find_unused = dist.boolean("find_unused");
  if (const auto wire = dist.text("compress"); wire != "none")
    options.wire = wire == "fp16" ? at::kHalf : at::kBFloat16;
  return options;
}

DataParallel::DataParallel(TorchGroup& group, const nets::NamedTensors& parameters, std::int64_t scalars,
                           const DataParallelOptions& options)
    : group_(group),
      parameters_(parameters),
      only_own_(options.only_own),
      find_unused_(options.find_unused),
      no_gradients_(options.no_gradients) {
  const torch::NoGradGuard no_gradients;
  auto trained = tensors_of(parameters);
  std::erase_if(trained, [](auto& tensor) { return !tensor.requires_grad(); });
  if (trained.empty()) throw InternalError("a net without parameters to train");
  control_ =
      torch::zeros({scalars + flag_count}, trained.front().options().dtype(torch::kFloat32)).requires_grad_(true);
  // The loss adds the control tensor last, so its gradient comes first, in the first settled bucket, which is sent as
  // it is.
  trained.insert(trained.begin(), control_);
  in_collective(group_, "the comparison of nets",
                [&] { c10d::verify_params_across_processes(group_.processes(), trained, std::nullopt); });
  if (no_gradients_) trained = {control_};
  reducer_ = make_reducer(group_, trained, no_gradients_ ? nets::NamedTensors() : parameters, options);
  if (only_own_) own_ = trained;
  reducer_->register_comm_hook(
      std::make_unique<GradientExchange>(group_.processes(), options.wire, control_, times_, stalls_));
  if (!options.find_unused) settle_buckets();
}

DataParallel::~DataParallel() = default;

void DataParallel::begin(bool first, bool last) {
  if (first) control_.mutable_grad().reset();
  last_ = last;
  if (!last) return;
  begun_ = true;
  times_.begin();
  in_collective(group_, "the start of an iteration", [&] {
    reducer_->rebuild_buckets();  // called once; it uses the order in which gradients came in settle_buckets()
    reducer_->prepare_for_forward();
  });
}

void DataParallel::backward(const at::Tensor& loss, const at::Tensor& scalars, double share, const StepFlags& flags,
                            const at::Tensor& one) {
  begun_ = false;
  const at::Tensor mine =
      torch::cat({(scalars * share).to(control_.scalar_type()), marked(last_ ? flags : StepFlags{})});
  const at::Tensor part = share == 1 ? loss : loss * share;
  const at::Tensor whole = no_gradients_ ? control_.dot(mine) : part + control_.dot(mine);
  const auto add_gradients = [&] {
    whole.backward(one, std::nullopt, false, only_own_ ? std::optional<at::TensorList>(own_) : std::nullopt);
  };
  if (!last_) return add_gradients();
  in_collective(group_, "the averaging of gradients", [&] {
    reducer_->prepare_for_backward(find_unused_ ? std::vector{whole} : std::vector<at::Tensor>{});
    add_gradients();
    if (!times_.complete()) throw_unused();
  });
  stalls_.wait_ends();
}

void DataParallel::contribute_zeros(double share, const StepFlags& flags) {
  if (!begun_) begin(true, true);
  at::Tensor nothing = torch::zeros({}, control_.options().requires_grad(false));
  for (const auto& [name, parameter] : parameters_)
    if (parameter.requires_grad() && !no_gradients_) nothing = nothing + parameter.sum() * 0;
  backward(nothing, torch::zeros({control_.size(0) - flag_count}, control_.options().requires_grad(false)), share,
           flags);
}

at::Tensor DataParallel::marked(const StepFlags& flags) const {
  const auto there = control_.options().requires_grad(false);
  // Flags are rarely set. Zeros are made on the device, since a copy to it would wait for all its pending work.
  if (!flags.any()) return torch::zeros({flag_count}, there);
  return torch::tensor(at::ArrayRef<double>(flags.values()), torch::kFloat32).to(there.device());
}

void DataParallel::settle_buckets() {
  const torch::AutoGradMode with_gradients(true);
  contribute_zeros(0, {});
}

void DataParallel::throw_unused() const {
  std::vector<std::string> names;
  for (auto& [name, parameter] : parameters_)
    if (parameter.requires_grad() && !parameter.grad().defined()) names.push_back(name);
  throw UserError(
      ExitCode::usage, "parameters that take no part in the loss: " + (names.empty() ? "some" : join(names)),
      "set dist.find_unused = true, which does not wait for their gradients, or freeze them: [[group]] with frozen");
}

at::Tensor DataParallel::scalars() const { return control_.grad().slice(0, 0, control_.size(0) - flag_count); }

at::Tensor DataParallel::flags() const { return control_.grad().slice(0, control_.size(0) - flag_count); }

StepStats DataParallel::stats(std::span<const double> means) {
  StepStats stats;
  for (std::size_t i = 0; i < all_flags; ++i) stats.flags.values()[i] = std::round(means[i] * group_.size());
  // A GPU's buckets are done when they are in its queue, which does not tell when they arrive.
  const auto exchange = control_.is_cpu() ? times_.summary() : ExchangeTimes::Summary{};
  stats.exchange_s = exchange.busy_s;
  stats.exposed_s = exchange.exposed_s - stalls_.take(exchange.exposed_s);
  return stats;
}

}  // namespace flowtrain
