// The streams of a device in a profile.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>

#include "stages/trace/profile.h"
#include "tests/gpu/test_device.h"
#include "tests/support/parts.h"
#include "tests/support/tiny_learner.h"

namespace flowtrain::trace_test {

using testing::test_device;

TEST_CASE("copies and phases are slices of the device's streams, within what the host asked for") {
  SKIP_WITHOUT_GPU();
  testing::Tables tables;
  tables.optims.assign(1, tables.optim);
  LearnerSpec spec{{tables.net, tables.loss, tables.optims, tables.groups, tables.train, tables.run, tables.val},
                   {testing::layout}};
  spec.data.classes = 4;
  spec.data.class_names = {"a", "b", "c", "d"};
  spec.process.device = test_device().str();
  const auto device = testing::make_test_device();
  Profile profile(1, 40);
  profile.time_streams(*device);
  spec.process.profile = &profile;
  const auto learner = make_torch_learner(spec);
  Slab slab(testing::layout, *device);
  for (std::uint64_t iteration = 1; iteration <= 40; ++iteration) {
    const BatchPlace place{"train", iteration - 1};
    profile.begin_batch(place);
    profile.begin_iteration(iteration);
    device->wait_host_free(0);
    testing::fill(slab, iteration, 8);
    Profile::StreamSpan copy(&profile, *device, DeviceStream::copies, "copy stream", {"copy", place, iteration});
    device->start_copy(0, slab.device(), slab.host(), testing::layout.bytes());
    copy.end();
    const HyperParameters hyper{0.0625, 0.9, 1};
    learner->set_hyper(std::span(&hyper, 1));
    learner->forward_backward(slab, {});
    learner->finish_gradients();
    learner->update();
  }
  profile.finish();
  CHECK(profile.device() == device->name());
  CHECK(profile.streams().size() == 2);
  std::map<std::string, int> times;
  std::map<std::pair<std::string, std::uint64_t>, Profile::Event> phases;
  std::map<int, std::vector<Profile::Event>> streams;
  for (auto& event : profile.events()) {
    if (event.on_device) {
      ++times[event.name];
      streams[event.thread].push_back(event);
    } else if (event.category == "phase") {
      phases[{event.name, event.iteration}] = event;
    }
  }
  const std::map<std::string, int> expected{{"copy", 10},     {"transfer", 10},  {"forward", 10},
                                            {"backward", 10}, {"gradients", 10}, {"optimizer", 10}};
  CHECK(times == expected);
  for (auto& [stream, slices] : streams) {
    std::int64_t last_ns = 0;
    for (auto& slice : slices) {  // in the order in which they were asked for
      CAPTURE(slice.name);
      CAPTURE(slice.iteration);
      CHECK(slice.begin_ns >= last_ns);
      last_ns = slice.begin_ns + slice.duration_ns;
      if (slice.name == "copy" || slice.name == "forward" || slice.name == "backward") CHECK(slice.duration_ns > 0);
      const auto phase = phases.find({slice.name, slice.iteration});
      if (phase == phases.end()) continue;
      CHECK(slice.begin_ns >= phase->second.begin_ns);
      CHECK(slice.begin_ns <= phase->second.begin_ns + phase->second.duration_ns);
    }
  }
}

}  // namespace flowtrain::trace_test
