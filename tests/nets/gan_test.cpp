#include "nets/models/gan.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>

#include "tests/support/parts.h"

namespace flowtrain::gan_test {

using namespace flowtrain::nets;

namespace {

NetInput pictures_of(std::int64_t height, std::int64_t width) {
  return {.classes = 1, .height = height, .width = width};
}

}  // namespace

TEST_CASE("a GAN makes pictures of the size it judges") {
  at::manual_seed(1);
  Gan gan(pictures_of(16, 24));
  const at::Tensor pictures = gan.generate(at::randn({5, Gan::latent}));
  CHECK(pictures.sizes() == at::IntArrayRef({5, 3, 16, 24}));
  CHECK(pictures.abs().max().item<double>() <= 1);
  CHECK(gan.score(pictures).sizes() == at::IntArrayRef({5}));
  for (const auto& [name, parameter] : gan.parameters())
    CHECK((name.starts_with("generator.") || name.starts_with("discriminator.")));
  CHECK_THROWS_AS(Gan(pictures_of(16, 20)), std::invalid_argument);
}

TEST_CASE("the losses of a GAN, each from its own pass") {
  at::manual_seed(1);
  Gan gan(pictures_of(16, 16));
  GanStep step(gan);
  const NamedTensors batch{{"image", at::rand({4, 3, 16, 16}) * 2 - 1}};
  const auto judged = step(batch, {"discriminator"}), made = step(batch, {"generator"});
  CHECK(judged.contains("real"));
  CHECK_FALSE(judged.contains("generator"));
  CHECK_FALSE(made.contains("discriminator"));
  CHECK(step.scalars({"discriminator"}) == std::vector<std::string>{"real", "fake"});
  CHECK(step.scalars({"generator"}).empty());
  // The weights are almost nothing at first: nobody can tell anything.
  CHECK(judged.at("discriminator").item<double>() == doctest::Approx(2 * std::log(2)).epsilon(0.2));
  CHECK(made.at("generator").item<double>() == doctest::Approx(std::log(2)).epsilon(0.2));
  // The generator's pass goes through the discriminator, the discriminator's stops at the pictures.
  judged.at("discriminator").backward();
  for (const auto& [name, parameter] : gan.parameters())
    CHECK(parameter.grad().defined() == name.starts_with("discriminator."));

  const auto made_for = [](Net& net) {
    const flowtrain::Settings none{};
    return make_step(flowtrain::testing::table_of(steps(), "gan"), {net, none, none});
  };
  CHECK(made_for(gan)->losses() == std::vector<std::string>{"discriminator", "generator"});
  const auto other = flowtrain::testing::make_net({"mlp", pictures_of(16, 16)});
  CHECK_THROWS_WITH_AS(made_for(*other), "gan: this step needs net.name = \"gan\", a generator and a discriminator",
                       std::invalid_argument);
}

}  // namespace flowtrain::gan_test
