#pragma once
// A learner of a few hundred parameters, and batches for it.

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/base/config/keys.h"
#include "pipeline/base/config/part_kinds.h"
#include "sampling/core/random.h"
#include "stages/device/device.h"
#include "stages/torch/learner/learner.h"
#include "stages/trace/profile.h"

namespace flowtrain::testing {

inline const SlabLayout layout({{"image", DType::u8, {6, 5, 3}, {0.5, 0.5, 0.5}, {0.25, 0.25, 0.25}},
                                {"label", DType::i64, {}}},
                               8);

/// The settings of an MLP with dropout, clipped gradients and weight decay.
struct Tables {
  Settings net{"net", keys_with("net", "mlp")}, loss{"loss", keys_with("loss", "cross_entropy")},
      optim{"optim", keys_with("optim", "sgd")}, train{"train", core_keys("train")}, run{"run", core_keys("run")},
      val{"val", core_keys("val")};
  std::vector<Settings> optims, groups;
  Profile profile;  // each run has one

  Tables() {
    net.set("hidden", std::vector<std::int64_t>{16}, {});
    net.set("dropout", 0.3, {});
    run.set("threads", std::int64_t{1}, {});
    train.set("clip", 0.5, {});
    val.set("metrics", std::vector<std::string>{}, {});
    optim.set("weight_decay", 0.01, {});
  }

  /// Another optimizer instead, with the same weight decay; sgd with momentum.
  void take_optimizer(const std::string& name) {
    optim = Settings("optim", keys_with("optim", name));
    optim.set("weight_decay", 0.01, {});
    if (name == "sgd") optim.set("momentum", 0.9, {});
  }

  std::unique_ptr<Learner> learner(MakeWorkGraph graphs) {
    train.set("cuda_graph", graphs != nullptr, {});
    optims.assign(1, optim);
    LearnerSpec spec{{net, loss, optims, groups, train, run, val}, {layout}};
    spec.data.classes = 4;
    spec.data.class_names = {"a", "b", "c", "d"};
    spec.process.seed = 3;
    spec.process.graphs = std::move(graphs);
    spec.process.profile = &profile;
    return make_torch_learner(spec);
  }
};

/// Fills a slab with bytes and labels that depend on the iteration.
inline void fill(Slab& slab, std::uint64_t iteration, std::uint32_t rows) {
  Ticket ticket;
  ticket.iteration = iteration;
  slab.begin(ticket, 0, rows, 1);
  Stream random(1, Purpose::sample, iteration);
  for (std::size_t i = 0; i < layout.bytes(); ++i) slab.host()[i] = static_cast<std::byte>(random.below(256));
  for (std::uint32_t row = 0; row < rows; ++row) {
    const std::int64_t label = static_cast<std::int64_t>(random.below(4));
    std::memcpy(slab.host() + layout.offset(1) + row * sizeof label, &label, sizeof label);
  }
}

}  // namespace flowtrain::testing
