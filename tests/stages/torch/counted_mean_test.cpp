// A mean is over what counts: losses that count their terms, in micro-batches and processes with unequal numbers of
// them. The processes are threads of the test.

#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <functional>
#include <thread>

#include "nets/layers/module_net.h"
#include "sampling/core/mutex.h"
#include "stages/model/row_results.h"
#include "stages/torch/parallel/torch_group.h"
#include "stages/torch/step/step_readout.h"
#include "stages/torch/step/train_step.h"
#include "stages/torch/validation/net_validator.h"
#include "tests/support/failure_helper.h"
#include "tests/support/tiny_learner.h"

namespace flowtrain::counted_mean_test {

namespace {

constexpr std::uint32_t all_rows = 32;
constexpr std::int64_t places = 48, classes = 5, ignored = -100;

const SlabLayout dense({{"image", DType::u8, {6, 5, 3}, {0.5, 0.5, 0.5}, {0.25, 0.25, 0.25}},
                        {"label", DType::i64, {places}}},
                       all_rows);

/// Gives each of `places` in a row logits: (B, classes, places).
class Places final : public nets::ModuleNet {
 public:
  Places()
      : Places(torch::nn::Sequential(torch::nn::Linear(90, 16), torch::nn::Tanh(),
                                     torch::nn::Linear(16, classes * places))) {}

  nets::NamedTensors forward(const nets::NamedTensors& batch) override {
    return {{"logits", layers_->forward(batch.at("image").flatten(1)).view({-1, classes, places})}};
  }
  bool may_give(const std::string& output) const override { return output == "logits"; }

 private:
  explicit Places(const torch::nn::Sequential& layers) : ModuleNet(layers.ptr()), layers_(layers) {}
  torch::nn::Sequential layers_;
};

Mutex drawing;  // the first weights are drawn from torch's one generator

std::shared_ptr<nets::Net> make_places() {
  const MutexLock lock(drawing);
  torch::manual_seed(5);
  return std::make_shared<Places>();
}

/// Settings whose loss counts the labels that are not ignored.
struct Tables : testing::Tables {
  Tables() {
    loss.set("ignore_index", ignored, {});
    train.set("clip", 0.0, {});
    optim.set("weight_decay", 0.0, {});
    optims.assign(1, optim);
  }
};

/// Returns the share of a row's places that are ignored: the first rows keep most, the last ones few.
double masked(std::uint32_t row) { return 0.05 + 0.9 * row / (all_rows - 1); }

using Masked = std::function<double(std::uint32_t row)>;

/// Fills a slab with rows `first` and on of an iteration, which have `records` records if they are packed.
void fill(Slab& slab, Ticket ticket, std::uint32_t first, std::uint32_t rows, const Masked& share,
          std::uint32_t records = 0) {
  slab.begin(ticket, 0, BatchShape{.rows = rows, .records = records}, 1);
  for (std::uint32_t row = 0; row < rows; ++row) {
    Stream random(1, Purpose::sample, ticket.iteration * all_rows + first + row);
    for (std::size_t i = 0; i < dense.row_bytes(0); ++i)
      slab.host()[row * dense.row_bytes(0) + i] = static_cast<std::byte>(random.below(256));
    for (std::int64_t place = 0; place < places; ++place) {
      const auto label =
          random.below(1000) < 1000 * share(first + row) ? ignored : std::int64_t(random.below(classes - 1));
      std::memcpy(slab.host() + dense.offset(1) + row * dense.row_bytes(1) + place * sizeof label, &label,
                  sizeof label);
    }
  }
}

/// A way to divide the rows of an iteration: so many in each micro-batch of all processes.
struct Way {
  int world = 1;
  std::vector<std::uint32_t> micro{all_rows};
  int failing = -1;     ///< a rank that has an error in place of its last gradients
  bool packed = false;  ///< rows have several records, in each micro-batch and process another number
};

/// The end of some iterations of plain SGD, and the last one's gradients and statistics.
struct Trained {
  at::Tensor gradients, parameters;
  StepStats stats;
};

at::Tensor flat(const nets::NamedTensors& tensors, bool gradients) {
  std::vector<at::Tensor> parts;
  for (const auto& [name, tensor] : tensors)
    parts.push_back((gradients ? tensor.grad() : tensor.detach()).to(at::kDouble).flatten());
  return at::cat(parts);
}

c10::intrusive_ptr<c10d::ProcessGroupGloo::Options> gloo_options() {
  auto made = c10d::ProcessGroupGloo::Options::create(std::chrono::minutes(1));
  made->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1", true));
  return made;
}

Trained train_rank(const Tables& tables, const Way& way, Group& group, int iterations, const Masked& share) {
  const Settings dist("dist", core_keys("dist"));
  LearnerSpec spec{{tables.net, tables.loss, tables.optims, tables.groups, tables.train, tables.run, tables.val},
                   {dense}};
  spec.tables.dist = &dist;
  spec.data.classes = classes;
  spec.process.group = &group;
  const auto net = make_places();
  net->train(true);
  TrainStep step(spec, *net);
  StepReadout readout(nullptr);
  const auto batches = make_train_batches(spec, dense);
  const auto device = make_cpu_device();
  const SlabLayout packed(dense.fields(), {{.rows = all_rows, .records = 4 * all_rows}});
  Slab slab(way.packed ? packed : dense, *device);
  Trained done;
  for (int iteration = 1; iteration <= iterations; ++iteration) {
    readout.forget(step);
    step.begin(static_cast<std::uint64_t>(iteration), net->parameters());
    std::uint32_t first = 0;
    for (std::size_t micro = 0; micro < way.micro.size(); ++micro) {
      const auto world = static_cast<std::uint32_t>(way.world), rank = static_cast<std::uint32_t>(group.rank());
      const std::uint32_t own = way.micro[micro] / world;
      Ticket ticket{.iteration = static_cast<std::uint64_t>(iteration)};
      ticket.micro = static_cast<std::uint16_t>(micro);
      ticket.seq = static_cast<std::uint64_t>(iteration) * way.micro.size() + micro;
      const auto more = static_cast<std::uint32_t>(7 * micro + 5 * rank);
      fill(slab, ticket, first + rank * own, own, share, way.packed ? own + more : 0);
      slab.set_share(static_cast<double>(own * world * way.micro.size()) / all_rows);
      if (group.rank() == way.failing && micro + 1 == way.micro.size())
        CHECK(step.contribute_zeros(slab, {}));
      else
        step.add_gradients(slab, *batches, {});
      first += way.micro[micro];
    }
    step.finish_gradients();
    done.stats = readout.read(step);
    done.gradients = flat(net->parameters(), true);
    const HyperParameters hyper{0.1, 0, 1};
    step.optimizers().set_hyper(std::span(&hyper, 1));
    step.apply();
  }
  done.parameters = flat(net->parameters(), false);
  return done;
}

/// Trains in as many threads as the way has processes, and returns what the last rank ends with.
Trained train(Tables& tables, const Way& way, int iterations = 1, const Masked& share = masked) {
  torch::set_num_threads(1);
  tables.train.set("accum", static_cast<std::int64_t>(way.micro.size()), {});
  if (way.world == 1) return train_rank(tables, way, solo_group(), iterations, share);
  ::setenv("TORCH_FR_BUFFER_SIZE", "0", 1);
  const auto store = c10::make_intrusive<c10d::HashStore>();
  Trained done;
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < way.world; ++rank)
    threads.emplace_back([&, rank] {
      TorchGroup group(make_gloo_group(store, rank, way.world, gloo_options), std::make_shared<CollectiveLog>(),
                       gloo_options);
      Trained mine = train_rank(tables, way, group, iterations, share);
      if (rank + 1 == way.world) done = std::move(mine);
    });
  threads.clear();
  return done;
}

/// Computes an iteration's gradients and loss in double precision, as one sum over one count.
std::pair<at::Tensor, double> expected_of(const Tables& tables, const Masked& share = masked) {
  LearnerSpec spec{{tables.net, tables.loss, tables.optims, tables.groups, tables.train, tables.run, tables.val},
                   {dense}};
  const auto net = make_places();
  const auto device = make_cpu_device();
  Slab slab(dense, *device);
  fill(slab, {.iteration = 1}, 0, all_rows, share);
  const nets::NamedTensors batch = (*make_train_batches(spec, dense))(slab);
  std::vector<at::Tensor> weights;
  for (const auto& [name, tensor] : net->parameters())
    weights.push_back(tensor.detach().to(at::kDouble).requires_grad_());
  const at::Tensor hidden = at::linear(batch.at("image").flatten(1).to(at::kDouble), weights[0], weights[1]).tanh();
  const at::Tensor logits = at::linear(hidden, weights[2], weights[3]).view({-1, classes, places});
  const at::Tensor loss = at::cross_entropy_loss(logits, batch.at("label"), {}, at::Reduction::Sum, ignored) /
                          batch.at("label").ne(ignored).sum();
  loss.backward();
  std::vector<at::Tensor> parts;
  for (auto& weight : weights) parts.push_back(weight.grad().flatten());
  return {at::cat(parts), loss.item<double>()};
}

double apart(const at::Tensor& one, const at::Tensor& other) {
  return ((one - other).norm() / other.norm()).item<double>();
}

const std::vector<Way> ways{{1, {32}},
                            {1, {8, 8, 8, 8}},
                            {2, {32}},
                            {4, {32}},
                            {2, {16, 16}},
                            {2, {24, 8}},
                            {.world = 2, .micro = {16, 16}, .packed = true}};

}  // namespace

TEST_CASE("gradients are the mean over what counts, however an iteration's rows are divided") {
  Tables tables;
  const auto [gradients, loss] = expected_of(tables);
  const Trained whole = train(tables, {}, 4);
  Tables local;
  local.loss.set("ignore_index", std::string("none"), {});  // each micro-batch and process takes a mean of its own
  for (const Way& way : ways) {
    CAPTURE(way.world);
    CAPTURE(way.micro.size());
    const Trained one = train(tables, way);
    CHECK(apart(one.gradients, gradients) < 1e-6);
    CHECK(one.stats.loss == doctest::Approx(loss).epsilon(1e-6));
    CHECK(one.stats.grad_norm == doctest::Approx(gradients.norm().item<double>()).epsilon(1e-6));
    CHECK(apart(train(tables, way, 4).parameters, whole.parameters) < 1e-6);
    // The rows are sorted by what counts, or dealt so that all parts have nearly as much.
    const Masked dealt = [](std::uint32_t row) { return masked(row * 13 % all_rows); };
    const double off = apart(train(local, way).gradients, gradients),
                 still_off = apart(train(local, way, 1, dealt).gradients, expected_of(tables, dealt).first);
    MESSAGE(way.world << " processes, " << way.micro.size() << " micro-batches: " << apart(one.gradients, gradients)
                      << " from the mean over what counts; the mean of their own means: " << off << ", dealt "
                      << still_off);
    if (static_cast<std::size_t>(way.world) * way.micro.size() > 1) CHECK(off > 0.01);
    CHECK(apart(train(tables, way, 1, dealt).gradients, expected_of(tables, dealt).first) < 1e-6);
  }
}

TEST_CASE("the loss of transcripts is the mean over those that fit, however an iteration's rows are divided") {
  Tables tables;
  tables.loss = Settings("loss", keys_with("loss", "ctc"));
  // A row has its first labels as its transcript; one with few ignored ones has too many for its frames at times.
  const Masked share = [](std::uint32_t row) { return row % 5 == 0 ? 0.0 : masked(row); };
  const Trained whole = train(tables, {}, 4, share);
  const auto [name, too_long] = whole.stats.parts.at(0);
  CHECK(name == "loss.too_long");
  CHECK(too_long == doctest::Approx(7.0 / all_rows));
  for (const Way& way : ways) {
    if (way.packed) continue;
    CAPTURE(way.world);
    CAPTURE(way.micro.size());
    const Trained one = train(tables, way, 1, share);
    const Trained undivided = train(tables, {}, 1, share);
    CHECK(one.stats.parts.at(0).second == doctest::Approx(undivided.stats.parts.at(0).second));
    CHECK(apart(one.gradients, undivided.gradients) < 1e-5);
    CHECK(apart(train(tables, way, 4, share).parameters, whole.parameters) < 1e-5);
  }
}

TEST_CASE("gradients are clipped after they are divided by what counts") {
  Tables tables;
  const double norm = train(tables, {}).stats.grad_norm;
  tables.train.set("clip", norm / 2, {});
  const Trained whole = train(tables, {}, 4);
  CHECK(whole.stats.clipped == 1);
  for (const Way& way : ways) {
    const Trained other = train(tables, way, 4);
    CHECK(other.stats.clipped == 1);
    CHECK(other.stats.grad_norm == doctest::Approx(whole.stats.grad_norm).epsilon(1e-6));
    CHECK(apart(other.parameters, whole.parameters) < 1e-6);
  }
}

TEST_CASE("half precision takes its scale and what counts off the gradients") {
  Tables tables;
  const auto [gradients, loss] = expected_of(tables);
  tables.train.set("amp", std::string("fp16"), {});
  for (const Way& way : ways) {
    const Trained half = train(tables, way);
    CHECK_FALSE(half.stats.overflow);
    CHECK(half.stats.loss == doctest::Approx(loss).epsilon(1e-3));
    CHECK(apart(half.gradients, gradients) < 1e-2);
  }
}

TEST_CASE("an iteration in which nothing counts has the loss and the gradients zero") {
  Tables tables;
  for (const Way& way : ways) {
    const Trained none = train(tables, way, 1, [](std::uint32_t) { return 1.0; });
    CHECK(none.stats.loss == 0);
    CHECK(none.stats.grad_norm == 0);
    CHECK(none.gradients.eq(0).all().item<bool>());
    // Only the first row counts: most micro-batches and processes have nothing.
    const Masked first = [](std::uint32_t row) { return row == 0 ? 0.5 : 1.0; };
    const auto [gradients, loss] = expected_of(tables, first);
    const Trained some = train(tables, way, 1, first);
    CHECK(some.stats.loss == doctest::Approx(loss).epsilon(1e-6));
    CHECK(apart(some.gradients, gradients) < 1e-6);
  }
}

TEST_CASE("rows of a process that fails do not count") {
  Tables tables;
  const Masked half = [](std::uint32_t row) { return row < all_rows / 2 ? masked(row) : 1.0; };
  const auto [gradients, loss] = expected_of(tables, half);
  const Trained rest = train(tables, {.world = 2, .failing = 1});
  CHECK(apart(rest.gradients, gradients) < 1e-6);
  CHECK(rest.stats.loss == doctest::Approx(loss).epsilon(1e-6));
}

TEST_CASE("a validation's loss is the mean over what counts in all of its batches") {
  Tables tables;
  LearnerSpec spec{{tables.net, tables.loss, tables.optims, tables.groups, tables.train, tables.run, tables.val},
                   {dense, &dense}};
  const auto net = make_places();
  TrainStep step(spec, *net);
  NetValidator validator(spec, net, step.step());
  const auto device = make_cpu_device();
  Slab slab(dense, *device);
  const auto loss_of = [&](const std::vector<std::uint32_t>& batches) {
    validator.begin();
    std::uint32_t first = 0;
    double sum = 0, terms = 0;
    for (const std::uint32_t rows : batches) {
      fill(slab, {.iteration = 1}, first, rows, masked);
      const RowResults results = validator.add_rows(slab, {});
      REQUIRE(results.losses.size() == 1);
      sum += results.losses[0].sum, terms += results.losses[0].count;
      first += rows;
    }
    const Scalars scalars = validator.end(solo_group());
    CHECK(scalars.front().second == doctest::Approx(sum / terms));
    return scalars.front().second;
  };
  const double whole = loss_of({32});
  CHECK(whole == doctest::Approx(expected_of(tables).second).epsilon(1e-6));
  CHECK(loss_of({8, 20, 4}) == doctest::Approx(whole).epsilon(1e-6));
}

namespace {

/// Two losses, of which one counts, and a scalar that does.
class TwoLosses final : public nets::Step {
 public:
  std::vector<std::string> losses() const override { return {"one", "two"}; }
  std::vector<std::string> scalars(const std::vector<std::string>&) const override { return {"right"}; }
  bool counts(const std::string& name) const override { return name == "two" || name == "right"; }
  nets::NamedTensors operator()(const nets::NamedTensors&, const std::vector<std::string>&) override { return {}; }
  Evaluated evaluate(const nets::NamedTensors&) override { return {}; }
};

}  // namespace

TEST_CASE("a loss that counts is not lowered together with another, and scalars have counts of their own") {
  const at::Tensor weight = torch::ones({2}).requires_grad_();
  AssignedParameters assigned;
  assigned.optimizers.push_back({{{{"weight", weight}}, 1, 0}});
  Settings optim("optim", keys_with("optim", "sgd"));
  optim.set("losses", std::vector<std::string>{"one", "two"}, {});
  const UserError refused = failure_of([&] { make_passes({optim}, assigned, TwoLosses()); });
  CHECK(std::string(refused.what()) ==
        "optim.losses: 'two' is a mean over terms that it counts, so it is lowered by itself, not with 1 more");

  std::vector<Settings> optims(2, Settings("optim", keys_with("optim", "sgd")));
  optims[0].set("losses", std::vector<std::string>{"one"}, {});
  optims[1].set("losses", std::vector<std::string>{"two"}, {});
  assigned.optimizers.push_back({{{{"other", torch::ones({2})}}, 1, 0}});
  const std::vector<Pass> passes = make_passes(optims, assigned, TwoLosses());
  REQUIRE(passes.size() == 2);
  CHECK_FALSE(passes[0].counts());
  CHECK(passes[1].counts());
  // Four rows: the mean 3 over 2 terms, of which half are right; the first loss is a mean over rows.
  const auto scalar = [](double value) { return torch::tensor(value, torch::kFloat); };
  const nets::NamedTensors made{{"one", scalar(7)},
                                {"two", scalar(3)},
                                {"two.count", torch::tensor(2)},
                                {"right", scalar(0.5)},
                                {"right.count", torch::tensor(8)}};
  StepStats stats;
  for (auto& pass : passes) {
    const at::Tensor values = pass.values_of(pass.lowered(made), made, 4);
    CHECK(values.numel() == pass.value_count());
    CHECK(pass.loss_in(values).item<double>() == pass.lowered(made).item<double>());
    const at::Tensor read = values.to(at::kDouble);
    pass.report({read.const_data_ptr<double>(), static_cast<std::size_t>(read.numel())}, stats);
  }
  CHECK(stats.loss == 10);
  CHECK(stats.parts == Scalars{{"loss.one", 7}, {"right", 0.5}, {"loss.two", 3}, {"right", 0.5}});
  CHECK(passes[1].over_slots(scalar(3), made, 4).item<double>() == 1.5);  // 6 in four rows
}

}  // namespace flowtrain::counted_mean_test
