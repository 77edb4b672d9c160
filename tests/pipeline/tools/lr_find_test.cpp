#include "pipeline/tools/bench/lr_find.h"

#include <doctest/doctest.h>

#include <cmath>

namespace flowtrain::lr_find_test {

namespace {

/// Runs the test of a range on a loss that is a function of rate and iteration.
template <class Loss>
LrFinder found(const LrRange& range, Loss loss) {
  LrFinder finder(range);
  HookContext context;
  for (context.iteration = 1; context.iteration <= range.iterations && context.stopped.empty(); ++context.iteration) {
    std::vector<HyperParameters> hyper{{0.1}, {0.2}};
    context.hyper = hyper;
    finder.on_event(HookEvent::iteration_begin, context);
    CHECK(hyper[1].lr == doctest::Approx(2 * hyper[0].lr));
    const double now = loss(hyper[0].lr, context.iteration);
    const Scalars scalars = std::isfinite(now) ? Scalars{{"loss", now}} : Scalars{};
    context.scalars = &scalars;
    finder.on_event(HookEvent::iteration_end, context);
  }
  return finder;
}

}  // namespace

TEST_CASE("rates grow by equal factors, from one end of the range to the other") {
  const auto finder = found({1e-5, 10, 7}, [](double, std::uint64_t) { return 1.0; });
  REQUIRE(finder.tried().size() == 7);
  for (std::size_t i = 0; i < 7; ++i)
    CHECK(finder.tried()[i].lr == doctest::Approx(std::pow(10.0, static_cast<double>(i) - 5)));
  CHECK(finder.suggestion() == 0);
  CHECK(finder.report().find("the loss does not fall") != std::string::npos);
}

TEST_CASE("the loss falls fastest where it does, whatever the noise") {
  // A step down around 0.01, up again from 1.
  const auto noisy = [](double noise) {
    return [noise](double lr, std::uint64_t i) {
      const double fall = 2 / (1 + std::pow(lr / 0.01, 1.5)), rise = lr > 1 ? lr * lr : 0;
      return 0.5 + fall + rise + noise * std::sin(static_cast<double>(i * i));
    };
  };
  for (const double noise : {0.0, 0.05}) {
    const auto finder = found({1e-6, 100, 200}, noisy(noise));
    CHECK(finder.suggestion() > 0.004);
    CHECK(finder.suggestion() < 0.025);
    CHECK(finder.tried().size() < 200);  // it has been told to stop
    CHECK(finder.tried().back().smooth > 4 * 0.5);
  }
}

TEST_CASE("a picture has both curves, the rates by powers of ten, and the suggestion") {
  const auto picture = found({1e-4, 1, 50}, [](double lr, std::uint64_t) { return 2 - lr; }).picture();
  const auto has = [&](const std::string& text) { return picture.find(text) != std::string::npos; };
  CHECK(picture.starts_with("<svg "));
  CHECK(picture.ends_with("</svg>\n"));
  for (const char* part : {">1e-4<", ">1e-1<", ">1e0<", "stroke=\"#bbb\"", "stroke=\"#06c\"", ">try "})
    CHECK_MESSAGE(has(part), std::string(part));
  CHECK(!has("nan"));
  // The greatest loss is the upper end, unless it is above twice the first one.
  const auto flat = found({1e-4, 1, 50}, [](double lr, std::uint64_t) { return 4 - lr; }).picture();
  CHECK(flat.find(">4</text>") != std::string::npos);
  CHECK(found({1e-6, 1, 100}, [](double, std::uint64_t) { return NAN; }).picture().ends_with("</svg>\n"));
}

TEST_CASE("a loss that is not finite ends the test") {
  const auto finder = found({1e-6, 1, 100}, [](double lr, std::uint64_t) { return lr > 0.001 ? INFINITY : 1 - lr; });
  CHECK(finder.tried().size() == 50);
  const auto hopeless = found({1e-6, 1, 100}, [](double, std::uint64_t) { return NAN; });
  CHECK(hopeless.tried().empty());
  CHECK(hopeless.suggestion() == 0);
  CHECK(hopeless.report().find("already not finite") != std::string::npos);
}

}  // namespace flowtrain::lr_find_test
