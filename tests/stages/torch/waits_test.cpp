// The places where a step waits for its device: every built-in net, loss and optimizer, on the CPU, by the operations
// that would.

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <doctest/doctest.h>

#include <array>
#include <map>
#include <set>

#include "nets/entries.h"
#include "pipeline/base/config/config.h"
#include "sampling/core/mutex.h"
#include "sampling/core/registry.h"
#include "sampling/core/settings.h"
#include "sampling/dataset.h"
#include "sampling/order.h"
#include "sampling/sampler.h"
#include "stages/loader/batch_planner.h"
#include "stages/loader/sample.h"
#include "stages/torch/learner/learner.h"
#include "tests/support/parts.h"
#include "tests/support/paths.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::waits_test {

namespace {

/// Counts, while it lives, the operations of all threads that give the host a number, or results whose size it must
/// know. What the optimizers' fused kernels read of a rate is left out: those of a GPU do not.
class Waits {
 public:
  Waits()
      : handle_(at::addGlobalCallback(at::RecordFunctionCallback(&begin, &end)
                                          .scopes({at::RecordScope::FUNCTION, at::RecordScope::USER_SCOPE}))) {
    const MutexLock lock(mutex);
    counts.clear();
  }
  ~Waits() { at::removeCallback(handle_); }
  Waits(const Waits&) = delete;

  std::map<std::string, int> seen() const {
    const MutexLock lock(mutex);
    return counts;
  }

 private:
  static bool is_fused(const at::RecordFunction& call) { return std::string(call.name()).starts_with("aten::_fused_"); }

  static std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& call) {
    static const std::set<std::string> waiting{"aten::_local_scalar_dense", "aten::is_nonzero", "aten::nonzero",
                                               "aten::masked_select",       "aten::equal",      "aten::_unique2",
                                               "values to the host"};
    if (is_fused(call)) ++fused;
    if (fused == 0 && waiting.contains(call.name())) {
      const MutexLock lock(mutex);
      ++counts[call.name()];
    }
    return nullptr;
  }
  static void end(const at::RecordFunction& call, at::ObserverContext*) {
    if (is_fused(call)) --fused;
  }

  inline static Mutex mutex;
  inline static std::map<std::string, int> counts FT_GUARDED_BY(mutex);
  inline static thread_local int fused = 0;
  at::CallbackHandle handle_;
};

using Counts = std::map<std::string, int>;

/// A graph that carries out what it keeps, and counts at which operations of that a GPU's could not be captured.
class Watched final : public WorkGraph {
 public:
  Watched(Counts& counts, int& repeated, bool runs) : counts_(counts), repeated_(repeated), runs_(runs) {}
  void capture(const std::function<void()>& work) override {
    work_ = work;
    if (runs_) watch();
  }
  void replay() override {
    ++repeated_;
    watch();
  }

 private:
  void watch() {
    const Waits waits;
    work_();
    for (auto& [name, count] : waits.seen()) counts_[name] += count;
  }

  Counts& counts_;
  int& repeated_;
  bool runs_;
  std::function<void()> work_;
};

/// A learner of a configuration, and batches for it.
struct Bench {
  explicit Bench(const std::string& text, MakeWorkGraph graphs = {})
      : config(load_config(folder.write("a.toml", text))),
        dataset(datasets().at(config.data(true).text("dataset")).make(config.data(true), {true})),
        sampler(samplers().at(config.table("sampler").text("name")).make(config.table("sampler"), {*dataset, true})),
        order(orders().at("sequential").make(Settings("order", orders().at("sequential").keys), {*dataset, 1})),
        layout(sampler->fields(), rows),
        slab(layout, *device) {
    LearnerSpec spec{{config.table("net"), config.table("loss"), config.list("optim"), config.list("group"),
                      config.table("train"), config.table("run"), config.table("val")},
                     {layout}};
    spec.data.val_layout = &layout;
    spec.data.class_names = dataset->classes();
    spec.data.classes = static_cast<std::int64_t>(spec.data.class_names.size());
    spec.tables.step = &config.table("step");
    spec.tables.ema = &config.table("ema");
    spec.process.graphs = std::move(graphs);
    learner = make_torch_learner(spec);
    hyper.assign(config.list("optim").size(), HyperParameters{0.001, 0.9, 1});
  }

  Slab& batch(std::uint64_t iteration) {
    Ticket ticket;
    ticket.iteration = iteration;
    BatchPlanner(*order, Batches(dataset->size(), rows, LastBatch::wrap), {}, 1, 1)(ticket, slab);
    read_rows(*dataset, slab.rows());
    SampleStage(*dataset, *sampler, 1)(slab, 0);
    learner->set_hyper(hyper);
    return slab;
  }

  static constexpr std::uint32_t rows = 2;
  TempFolder folder;
  Config config;
  std::unique_ptr<Dataset> dataset;
  std::unique_ptr<Sampler> sampler;
  std::unique_ptr<Order> order;
  std::unique_ptr<Device> device = make_cpu_device();
  SlabLayout layout;
  Slab slab;
  std::unique_ptr<Learner> learner;
  std::vector<HyperParameters> hyper;
};

const std::string shapes = "[data]\ndataset = \"shapes\"\nsamples = 50\nsize = 32\n[run]\nthreads = 1\nmax_iter = 9\n";

std::string classifier(const std::string& net, const std::string& loss, const std::string& optim,
                       const std::string& more = "") {
  return shapes + "[val]\nmetrics = []\n[net]\nname = \"" + net + "\"\n[loss]\nname = \"" + loss +
         "\"\n[optim]\nname = \"" + optim + "\"\n" + more;
}

std::string shipped(const std::string& name, const std::string& more) {
  return "base = [\"" + test::source_path("configs/") + name + ".toml\"]\n" + more;
}

/// Every net, loss and optimizer there is is in one of them.
std::vector<std::string> all_kinds() {
  const std::string adam = "[run]\nthreads = 1\n[val]\nmetrics = []\n[train]\ncuda_graph = true\n",
                    graph = "[train]\ncuda_graph = true\n", momentum = "momentum = 0.9\n";
  const std::string clipped = graph + "clip = 0.5\n[ema]\ndecay = 0.9\n";
  return {classifier("mlp", "cross_entropy", "sgd", graph),
          classifier("mlp", "mse", "sgd", momentum + clipped),
          classifier("mlp", "cross_entropy", "adam", clipped),
          classifier("lenet", "cross_entropy", "adamw", graph + "amp = \"bf16\"\n"),
          classifier("mlp", "cross_entropy", "adafactor", graph),
          classifier("mlp", "cross_entropy", "lamb", "weight_decay = 0.01\n" + clipped),
          classifier("mlp", "cross_entropy", "lion", "weight_decay = 0.01\n" + graph),
          classifier("lenet", "cross_entropy", "muon", graph + "amp = \"bf16\"\n"),
          classifier("mlp", "cross_entropy", "rmsprop", momentum + graph),
          classifier("resnet18", "cross_entropy", "sgd", momentum + graph),
          classifier("resnet34", "mse", "sgd", graph),
          classifier("resnet50", "cross_entropy", "adamw", clipped),
          classifier("resnet101", "cross_entropy", "sgd", momentum + graph),
          shipped("gan_shapes", adam),
          shipped("cornernet_shapes", adam),
          shipped("cornernet_squeeze_shapes", adam),
          shipped("cornernet_saccade_shapes", adam)};
}

std::string described(const Counts& counts) {
  std::string text;
  for (auto& [name, count] : counts) text += name + ": " + std::to_string(count) + "  ";
  return text;
}

}  // namespace

TEST_CASE("no built-in net, loss or optimizer waits for its device in what a graph of the step keeps") {
  std::set<std::string> nets, losses, optimizers;
  for (auto& text : all_kinds()) {
    CAPTURE(text);
    Counts counts;
    int repeated = 0, made = 0;
    Bench bench(text, [&] { return std::make_unique<Watched>(counts, repeated, made++ % 2 == 0); });
    for (std::uint64_t iteration = 1; iteration <= 5; ++iteration) {
      bench.learner->forward_backward(bench.batch(iteration), {});
      bench.learner->finish_gradients();
      bench.learner->update();
    }
    CHECK(repeated == 2 * 2);  // after three steps to warm up: forward and backward, and the update
    CHECK_MESSAGE(counts.empty(), described(counts));
    nets.insert(bench.config.table("net").text("name"));
    losses.insert(bench.config.table("loss").text("name"));
    for (auto& optim : bench.config.list("optim")) optimizers.insert(optim.text("name"));
  }
  const auto as_set = [](const std::vector<std::string>& names) { return std::set(names.begin(), names.end()); };
  nets.insert("script");  // the user's own
  nets.insert("package");
  for (const char* other : {"gpt2", "encoder", "conformer", "crnn"}) nets.insert(other);  // the next tests
  CHECK(nets == as_set(nets::nets().names()));
  CHECK(optimizers == as_set(nets::optimizers().names()));
  losses.insert("output");  // of a script: a test of its own
  losses.insert("ctc");     // it needs lengths on the host
  CHECK(losses == as_set(nets::losses().names()));
}

TEST_CASE("nets of texts wait for nothing, be their rows packed or padded") {
  const testing::Values keys{{"layers", std::int64_t{1}}, {"heads", std::int64_t{2}}, {"width", std::int64_t{8}}};
  const auto loss = testing::make_loss("cross_entropy", {{"ignore_index", std::int64_t{-100}}});
  const at::Tensor tokens = at::arange(12).view({2, 6});
  for (const std::string name : {"gpt2", "encoder"}) {
    const auto net = testing::make_net({name, {.vocabulary = 12, .length = 6, .labels = 12}, keys});
    for (const bool packed : {false, true}) {
      nets::NamedTensors batch{{"tokens", tokens}, {"label", tokens}};
      if (packed) {
        batch.add("segment", tokens.div(4, "floor").to(at::kInt));
        batch.add("position", tokens.remainder(4).to(at::kInt));
      } else {
        batch.add("tokens_length", at::tensor({6, 3}, at::kLong));
      }
      const Waits waits;
      (*loss)(net->forward(batch), batch).at("loss").backward();
      CHECK_MESSAGE(waits.seen().empty(), described(waits.seen()));
    }
  }
}

TEST_CASE("nets of recordings wait for nothing") {
  for (const std::string name : {"conformer", "crnn"}) {
    const auto net = testing::make_net({name, {.features = 15, .labels = 5}, {{"width", std::int64_t{8}}}});
    const nets::NamedTensors batch{{"features", at::zeros({2, 20, 15})},
                                   {"features_length", at::tensor({20, 9}, at::kLong)}};
    const Waits waits;
    net->forward(batch).at("logits").sum().backward();
    CHECK_MESSAGE(waits.seen().empty(), described(waits.seen()));
  }
}

TEST_CASE("taking a net's own loss waits for nothing") {
  const auto loss = testing::make_loss("output");
  const nets::NamedTensors outputs{{"loss", at::ones({1}, at::kHalf)}};
  const Waits waits;
  (*loss)(outputs, {});
  CHECK_MESSAGE(waits.seen().empty(), described(waits.seen()));
}

TEST_CASE("all metrics of an iteration are read at once") {
  const std::string all = "[train]\nclip = 0.5\namp = \"fp16\"\n[ema]\ndecay = 0.9\n";
  for (auto& text : {classifier("mlp", "cross_entropy", "sgd", all), shipped("gan_shapes", all)}) {
    CAPTURE(text);
    Bench bench(text);
    bench.learner->forward_backward(bench.batch(1), {});
    const Waits waits;
    bench.learner->finish_gradients();
    bench.learner->stats();
    CHECK_MESSAGE((waits.seen() == Counts{{"values to the host", 1}}), described(waits.seen()));
  }
}

TEST_CASE("a step whose metrics nobody asks for waits for nothing, and a batch of a validation once") {
  for (const std::string more :
       {"", "[train]\nclip = 0.5\n", "[train]\namp = \"bf16\"\naccum = 1\n[ema]\ndecay = 0.9\n"}) {
    CAPTURE(more);
    Bench bench(classifier("lenet", "cross_entropy", "sgd", "momentum = 0.9\n" + more));
    Slab& slab = bench.batch(1);
    {
      const Waits waits;
      bench.learner->forward_backward(slab, {});
      bench.learner->finish_gradients();
      bench.learner->update();
      CHECK_MESSAGE(waits.seen().empty(), described(waits.seen()));
    }
    bench.learner->begin_validation();
    {
      const Waits waits;
      bench.learner->validate(slab);
      CHECK(waits.seen() == Counts{{"values to the host", 1}});  // its loss
    }
    bench.learner->end_validation();
  }
}

}  // namespace flowtrain::waits_test
