#include "nets/cornernet/cornernet.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <c10/core/GradMode.h>
#include <doctest/doctest.h>

#include "tests/nets/names_of.h"
#include "tests/nets/summary.h"
#include "tests/support/parts.h"

namespace flowtrain::nets::cornernet_test {

using flowtrain::testing::make_net;
using flowtrain::testing::NetOf;
using flowtrain::testing::summary;

namespace {

NetOf net_of(const std::string& name, std::int64_t side, std::int64_t classes = 80) {
  return {name, {.classes = classes, .height = side, .width = side}};
}

CornerNet corner_net(const NetOf& net) { return {flowtrain::testing::table_of(nets(), net.name, net.keys), net.input}; }

using Widths = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("CornerNet family: as large as the published nets; heats begin at the prior") {
  const auto check = [](const char* name, std::int64_t parameters, std::size_t entries) {
    CAPTURE(name);
    const auto net = make_net(net_of(name, 255));
    CHECK(summary(*net).parameters == parameters);
    CHECK(net->parameters().size() + net->buffers().size() == entries);
    for (const auto& [key, tensor] : net->parameters()) {
      const bool has_prior = key.ends_with(".1.bias") && (key.find("_heats.") == 2 || key.starts_with("att_"));
      if (has_prior) CHECK(at::allclose(tensor, at::full_like(tensor, -2.19)));
    }
  };
  check("cornernet", 201035212, 1128);
  check("cornernet_squeeze", 31771852, 990);
  check("cornernet_saccade", 116969339, 828);
}

TEST_CASE("cornernet_saccade: forward gives the maps of all hourglasses, outputs those of the last") {
  const c10::NoGradGuard no_gradients;
  CornerNet net = corner_net(net_of("cornernet_saccade", 63, 4));
  net.train(false);
  const at::Tensor image = at::randn({2, 3, 32, 63});  // a size of its own
  const NamedTensors all = net.forward({{"image", image}});
  CHECK(names_of(all) ==
        "tl_heat0 br_heat0 tl_tag0 br_tag0 tl_off0 br_off0 att0_0 att0_1 att0_2 "
        "tl_heat1 br_heat1 tl_tag1 br_tag1 tl_off1 br_off1 att1_0 att1_1 att1_2 "
        "tl_heat2 br_heat2 tl_tag2 br_tag2 tl_off2 br_off2 att2_0 att2_1 att2_2");
  CHECK(all.at("br_heat0").sizes() == at::IntArrayRef{2, 4, 8, 16});
  CHECK(all.at("tl_tag1").sizes() == at::IntArrayRef{2, 1, 8, 16});
  CHECK(all.at("br_off2").sizes() == at::IntArrayRef{2, 2, 8, 16});
  CHECK(all.at("att2_0").sizes() == at::IntArrayRef{2, 1, 2, 4});
  CHECK(all.at("att2_2").sizes() == at::IntArrayRef{2, 1, 8, 16});

  const NamedTensors last = net.outputs({{"image", image}}, {"tl_heat", "att0"});
  CHECK(names_of(last) == "tl_heat br_heat tl_tag br_tag tl_off br_off att0 att1 att2");
  CHECK(at::equal(last.at("tl_heat"), all.at("tl_heat2")));
  CHECK(at::equal(last.at("att1"), all.at("att2_1")));
  CHECK(names_of(net.outputs({{"image", image}}, {"tl_heat"})) == "tl_heat br_heat tl_tag br_tag tl_off br_off");

  // Under autocast and in NHWC: maps stay f32 and are about the same.
  net.to(at::kCPU, /*channels_last=*/true);
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  const NamedTensors reduced = net.outputs({{"image", image.contiguous(at::MemoryFormat::ChannelsLast)}}, {"att0"});
  at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(at::kCPU, false);
  for (const auto& [name, map] : reduced) {
    CAPTURE(name);
    CHECK((map.scalar_type() == at::kFloat));
    const double distance = (map - last.at(name)).norm().item<double>() / last.at(name).norm().item<double>();
    CHECK(distance > 0);
    CHECK(distance < .05);
  }
}

TEST_CASE("cornernet_squeeze: every parameter gets a gradient, and batch norm can span processes") {
  auto net = make_net(net_of("cornernet_squeeze", 127, 2));
  net->train(true);
  int calls = 0;
  net->span_batch_norm([&](at::Tensor&) { ++calls; });  // one process: its own sums
  const auto maps = net->forward({{"image", at::randn({1, 3, 127, 127})}});
  CHECK(calls == 145);
  CHECK(maps.size() == 12);
  CHECK(maps.at("tl_heat1").sizes() == at::IntArrayRef{1, 2, 16, 16});
  at::Tensor sum = at::zeros({});
  for (const auto& [name, map] : maps) sum = sum + map.square().sum();
  sum.backward();
  for (const auto& [name, parameter] : net->parameters()) {
    CAPTURE(name);
    CHECK(parameter.grad().defined());
  }
}

TEST_CASE("CornerNet family: smaller than published, and plans that do not fit together") {
  const auto small = [](const std::string& name, const Widths& stem, const Widths& blocks) {
    NetOf net = net_of(name, 127);
    net.keys = {{"stacks", std::int64_t{1}}, {"stem", stem}, {"widths", Widths{16, 16, 24}}, {"blocks", blocks}};
    return net;
  };
  CornerNet net = corner_net(small("cornernet_squeeze", {8, 16, 16}, {1, 1, 2}));
  const NamedTensors maps = net.forward({{"image", at::zeros({1, 3, 127, 127})}});
  CHECK(maps.at("br_off0").sizes() == at::IntArrayRef({1, 2, 16, 16}));
  CHECK_FALSE(maps.contains("tl_heat1"));
  CHECK_THROWS_WITH_AS(make_net(small("cornernet_squeeze", {8, 16, 16}, {1, 1})),
                       "net cornernet_squeeze: 3 widths and 2 blocks, expected as many of each, and two at least",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      make_net(small("cornernet_squeeze", {8, 12}, {1, 1, 2})),
      "net cornernet_squeeze: its stem ends with width 12, its hourglass begins with 16, expected the same",
      std::invalid_argument);
  CHECK_THROWS_WITH_AS(make_net(small("cornernet_saccade", {8, 16, 16}, {1, 1, 2})),
                       "net cornernet_saccade: expected four widths, for three attention maps", std::invalid_argument);
}

TEST_CASE("CornerNet family: sides that do not halve evenly are refused, as is attention where there is none") {
  CHECK_THROWS_WITH_AS(make_net(net_of("cornernet", 500)),
                       "net cornernet: pictures are 500 x 500 pixels, expected sides that are multiples of 128 or up "
                       "to 3 less, such as 255 or 511",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(corner_net(net_of("resnet18", 511)),
                       "unknown CornerNet 'resnet18'; known: cornernet, cornernet_saccade, cornernet_squeeze",
                       std::invalid_argument);
  CornerNet net = corner_net(net_of("cornernet_squeeze", 121));
  CHECK_THROWS_WITH_AS(net.outputs({{"image", at::zeros({1, 3, 120, 128})}}, {}),
                       doctest::Contains("pictures are 120 x 128 pixels, expected sides that are multiples of 128 or "
                                         "up to 7 less"),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(net.outputs({{"image", at::zeros({1, 3, 128, 128})}}, {"att0"}),
                       "net cornernet_squeeze has no attention maps, only cornernet_saccade has",
                       std::invalid_argument);
  CHECK(net.may_give("tl_heat"));
  CHECK_FALSE(net.may_give("att0"));
}

}  // namespace flowtrain::nets::cornernet_test
