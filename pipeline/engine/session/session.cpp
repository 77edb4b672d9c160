#include "pipeline/engine/session/session.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "pipeline/base/config/source_groups.h"
#include "pipeline/base/values/periods.h"
#include "pipeline/engine/session/memory_check.h"
#include "pipeline/engine/session/pixel_form.h"
#include "sampling/core/error.h"

namespace flowtrain {

namespace {

bool ends_short(const Batches& batches) {
  const auto count = batches.per_epoch();
  return count > 0 && batches.rows(count - 1) < batches.size();
}

// Only sums the flags of a step over all processes.
class IdleRank : public IdleLearner {
 public:
  explicit IdleRank(Group& group) : group_(group) {}
  void forward_backward(Slab&, const StepFlags& flags) override { stats_.flags = flags; }
  void finish_gradients() override { group_.sum("the flags of a step", stats_.flags.values()); }
  StepStats stats() const override { return stats_; }

 private:
  Group& group_;
  StepStats stats_;
};

/// Returns the names of the labels of words; empty if no [[field]] has such labels.
std::vector<std::string> tags_of(const Config& config) {
  for (auto& field : validation_fields(config))
    if (field.has("tags")) return field.texts("tags");
  return {};
}

}  // namespace

Session::Session(const Config& config, SessionOptions options)
    : config_(config),
      options_(std::move(options)),
      device_(options_.device.empty() ? choose_device(config, options_.local_rank, options_.processes_here)
                                      : options_.device) {}

DataSlice Session::data_slice() const {
  const Group& group = *options_.group;
  if (options_.whole_batches) return {{}, options_.processes_here};
  return {{static_cast<std::uint64_t>(group.rank()), static_cast<std::uint64_t>(group.size())},
          options_.processes_here};
}

DataParts& Session::open_training() {
  train_ = open_training_data(config_, device_, data_slice(), options_.keeps_split);
  classes_ = train_.dataset->classes();
  return train_;
}

ValidationSets& Session::open_validation() {
  const bool validates = !options_.dry_run && options_.mode == TrainMode::full && !period(config_.val().every).off();
  if (!validates) return validation_;
  const auto tell = [&](const EmptyDataset& empty, const std::string& set) {
    if (options_.group->leads()) tell_empty_set(empty, set, config_);
  };
  return open_sets(validation_set_configs(config_), {classes_, record_form(learnt_pixels(config_, *train_.dataset))},
                   tell);
}

ValidationSets& Session::open_sets(const std::vector<SetConfig>& sets, const LearntData& learnt,
                                   const OnEmptySet& on_empty, bool needs_targets) {
  const bool is_leader = options_.group->leads();
  validation_ = open_validation_sets(sets, learnt, device_, data_slice(), is_leader, on_empty, needs_targets);
  if (!train_.dataset)
    classes_ =
        learnt.classes.empty() && !validation_.empty() ? validation_.front()->data.dataset->classes() : learnt.classes;
  return validation_;
}

void Session::prepare() {
  MemoryNeed need{config_, train_.dataset ? &train_ : nullptr, {}, !options_.dry_run, options_.processes_here};
  unsigned workers = train_.dataset ? train_.workers : 0;
  for (auto& set : validation_) {
    need.validation.push_back(&set->data);
    workers += set->data.workers;
  }
  if (options_.checks_memory) check_memory(need);
  scheduler_ = std::make_unique<Scheduler>(workers);
}

std::unique_ptr<Loader> Session::make_loader(LoaderParts parts) const {
  if (!scheduler_) throw InternalError("a loader of a session that is not prepared");
  return std::make_unique<Loader>(std::move(parts));
}

std::unique_ptr<Loader> Session::make_training_loader(const RunPlan& run_plan, Profile* profile) const {
  LoaderParts parts = loader_parts("train", train_, config_, run_plan.first, run_plan.last);
  parts.iterations.plan = [&run_plan](std::uint64_t iteration) { return run_plan.plan(iteration); };
  parts.iterations.schedule = [&run_plan](Plan& plan) { plan.hyper = run_plan.hyper(plan.iteration); };
  parts.profile = profile;
  parts.hash_every = run_plan.hash_every;
  parts.tries_threads = true;
  return make_loader(std::move(parts));
}

void Session::make_validation_loaders(const std::map<std::string, ValidationState>& done, Profile* profile) {
  for (auto& set : validation_) {
    const auto found = done.find(set->name);
    LoaderParts parts =
        loader_parts(set->label(), set->data, set->config, 1 + (found == done.end() ? 0 : found->second.batches));
    parts.profile = profile;
    set->loader = make_loader(std::move(parts));
  }
  check_rows(validation_, train_.sampler.get());
}

RunPlan Session::run_plan(std::uint64_t first) const {
  RunPlan run_plan = make_run_plan(config_, train_.batches, first, !validation_.empty());
  if (options_.mode == TrainMode::full && !options_.dry_run) check_updates(config_, run_plan.last);
  if (options_.mode != TrainMode::full)
    for (auto& plan : run_plan.optimizers) plan = {plan.label, plan.at(1), {}, {}, {}};
  return run_plan;
}

LearnerSpec Session::learner_spec(const SlabLayout& layout, const Config& config) const {
  LearnerSpec spec{.tables = {.net = config.table("net"),
                              .loss = config.table("loss"),
                              .optims = config.list("optim"),
                              .groups = config.list("group"),
                              .train = config.train(),
                              .run = config.run(),
                              .val = config.val(),
                              .sampler = &config.table("sampler"),
                              .detect = &config.table("detect"),
                              .decode = &config.table("decode"),
                              .dist = &config.table("dist"),
                              .ema = &config.table("ema"),
                              .step = &config.table("step"),
                              .init = config.list("net.init"),
                              .metrics = config.list("metric"),
                              .hook_list = config.list("hook")},
                   .data = {.train_layout = layout}};
  if (!validation_.empty() && validation_.front()->loader)
    spec.data.val_layout = &validation_.front()->loader->layout();
  const auto world = static_cast<std::uint64_t>(options_.group->size());
  const bool shapes_differ = train_.plan && train_.plan->varies() && !train_.plan->packed;
  auto groups = train_.plan ? train_.plan->groups : std::vector<std::uint32_t>();
  if (groups.empty()) groups = {static_cast<std::uint32_t>(train_.batches.size())};
  const bool divides = std::ranges::all_of(groups, [world](std::uint32_t rows) { return rows % world == 0; });
  spec.data.short_batches = shapes_differ || ends_short(train_.batches) || (train_.dataset && !divides) ||
                            std::ranges::any_of(validation_, [](auto& set) { return ends_short(set->data.batches); });
  if (has_groups(config)) {
    spec.data.sources = &config.list("data.source");
    spec.data.val_source = name_of_source(config.list("data.source")[group_of_validation(config)]);
  }
  spec.data.class_names = classes_.empty() ? tags_of(config) : classes_;
  spec.data.classes = static_cast<std::int64_t>(classes_.size());
  spec.process.device = device_;
  spec.process.seed = seed_of(config);
  spec.process.mode = options_.mode;
  if (train_.dataset) spec.data.mixing = mixing_of(config);  // Only training batches are mixed.
  spec.process.processes_here = options_.processes_here;
  spec.process.group = options_.group;
  return spec;
}

std::unique_ptr<Learner> Session::make_learner(const MakeLearner& make, const SlabLayout& layout, Hooks* hooks,
                                               Profile* profile) const {
  if (options_.dry_run) return std::make_unique<IdleRank>(*options_.group);
  LearnerSpec spec = learner_spec(layout, config_);
  spec.process.hooks = hooks;
  spec.process.profile = profile;
  return make(spec);
}

bool Session::validates_async() const { return !validation_.empty() && *config_.val().mode == "async"; }

std::uint64_t Session::retries() const {
  std::uint64_t sum = train_.dataset->retries();
  for (auto& set : validation_) sum += set->data.dataset->retries();
  return sum;
}

Slab& first_batch(Loader& loader) {
  Ticket ticket;
  if (!loader.next(ticket)) throw InternalError("the loader ended");
  if (ticket.kind == TicketKind::bad) std::rethrow_exception(loader.slab(ticket).error());
  return loader.slab(ticket);
}

std::string describe_record(const Config& config, std::uint64_t id) {
  Session session(config, {.dry_run = true, .checks_memory = false, .device = "cpu"});
  const Dataset& dataset = *session.open_training().dataset;
  return id < dataset.size() ? dataset.describe(id) : "";
}

}  // namespace flowtrain
