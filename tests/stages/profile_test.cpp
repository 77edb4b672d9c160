#include "stages/trace/profile.h"

#include <doctest/doctest.h>

namespace flowtrain::profile_test {

namespace {

std::vector<std::string> range_calls_seen;  // by the one thread of a test

}  // namespace

TEST_CASE("percentiles of durations are right to within five percent, over nine orders of magnitude") {
  for (const double unit : {1e-6, 1e-3, 1.0, 100.0}) {
    Durations durations;
    for (int i = 1; i <= 1000; ++i) durations.add(unit * i);
    CHECK(durations.count() == 1000);
    CHECK(durations.mean_s() == doctest::Approx(500.5 * unit));
    CHECK(durations.percentile_s(0.5) == doctest::Approx(500 * unit).epsilon(0.05));
    CHECK(durations.percentile_s(0.95) == doctest::Approx(950 * unit).epsilon(0.05));
  }
  const Durations none;
  CHECK(none.percentile_s(0.5) == 0);
  CHECK(none.mean_s() == 0);
  Durations extreme;
  for (const double s : {0.0, 1e-9, 1e9}) extreme.add(s);
  CHECK(extreme.count() == 3);
}

TEST_CASE("the window comes after a warm-up, and is a part of short runs") {
  struct Case {
    std::uint64_t first, last, begin, end;
  };
  for (auto& run :
       {Case{1, 1000, 11, 20}, Case{501, 1000, 511, 520}, Case{1, 8, 5, 6}, Case{1, 3, 2, 2}, Case{1, 1, 1, 1}}) {
    CAPTURE(run.last);
    const Profile profile(run.first, run.last);
    CHECK(profile.window_first() == run.begin);
    CHECK(profile.window_last() == run.end);
  }
}

TEST_CASE("a phase within another interrupts its time, and what is in the window is recorded instead") {
  Profile profile(1, 40);
  const auto busy = [&](Phase phase) { const Profile::At at(&profile, phase); };
  for (std::uint64_t iteration = 1; iteration <= 40; ++iteration) {
    profile.begin_iteration(iteration);
    CHECK(profile.recording() == (iteration >= 11 && iteration <= 20));
    {
      const Profile::At validation(&profile, Phase::validation);
      CHECK(profile.is_at(Phase::validation));
      busy(Phase::snapshot);
      const Profile::At snapshot(&profile, Phase::snapshot);
      CHECK_FALSE(profile.is_at(Phase::validation));
    }
    const Profile::Span span(&profile, {"train sample", {}, iteration});
  }
  profile.finish();
  CHECK(profile.iterations() == 30);
  CHECK(profile.recorded() == 10);
  CHECK(profile.of(Phase::validation).count() == 30);
  CHECK(profile.of(Phase::snapshot).count() == 60);
  CHECK(profile.of(Phase::snapshot).total_s() > 0);
  CHECK(profile.of(Phase::validation).total_s() + profile.of(Phase::snapshot).total_s() <= profile.wall_s());
  std::map<std::string, int> names;
  for (auto& event : profile.events()) {
    ++names[event.name];
    CHECK(event.iteration >= 11);
    CHECK(event.iteration <= 20);
    CHECK(event.duration_ns >= 0);
  }
  CHECK(names == std::map<std::string, int>{{"validation", 10}, {"snapshot", 20}, {"train sample", 10}});
  CHECK(profile.threads().size() == 1);
}

TEST_CASE("what is prepared for an iteration of the window is recorded before the window begins") {
  Profile profile(1, 40);
  profile.begin_iteration(5);
  for (const std::uint64_t iteration : {10u, 11u, 20u, 21u, 0u}) {
    const Profile::Span span(&profile, {"train sample", {"train", iteration - 1}, iteration});
    profile.count("train batches ready", 1);
  }
  std::vector<std::uint64_t> recorded;
  for (auto& event : profile.events()) recorded.push_back(event.iteration);
  CHECK(recorded == std::vector<std::uint64_t>{11, 20});
  CHECK(profile.counts().empty());
}

TEST_CASE("every run adds up its phases for a train line, and records nothing") {
  Profile profile;
  CHECK_FALSE(profile.detailed());
  const auto line = [&](Phase phase) { return profile.line_s()[static_cast<std::size_t>(phase)]; };
  for (std::uint64_t iteration = 1; iteration <= 20; ++iteration) {
    profile.begin_iteration(iteration);
    CHECK_FALSE(profile.recording());
    const Profile::At backward(&profile, Phase::backward);
    const Profile::At within(&profile, Phase::snapshot);
  }
  CHECK(line(Phase::backward) > 0);
  CHECK(line(Phase::snapshot) > 0);
  CHECK(line(Phase::forward) == 0);
  const double backward_s = line(Phase::backward);
  profile.waited_for_others(backward_s / 2);
  CHECK(line(Phase::communication) == backward_s / 2);
  CHECK(line(Phase::backward) == doctest::Approx(backward_s / 2));
  profile.begin_line();
  CHECK(line(Phase::backward) == 0);
  CHECK(profile.events().empty());
  CHECK(profile.of(Phase::backward).count() == 0);
}

TEST_CASE("without a profile nothing is asked of anyone") {
  const Profile::At at(nullptr, Phase::forward);
  const Profile::Span span(nullptr, {"train read", {}, 1});
}

TEST_CASE("phases and spans are told to NVIDIA's profilers by their names, with a profile and without") {
  static constexpr RangeCalls test_calls{[](const char* name) { range_calls_seen.emplace_back(name); },
                                         [] { range_calls_seen.emplace_back("end"); }};
  report_ranges_to(&test_calls);
  Profile profile;
  for (Profile* to : {static_cast<Profile*>(nullptr), &profile}) {
    range_calls_seen.clear();
    {
      const Profile::At at(to, Phase::forward);
      const Profile::Span span(to, {"val sample"});
    }
    CHECK(range_calls_seen == std::vector<std::string>{"forward", "val sample", "end", "end"});
  }
  report_ranges_to(nullptr);
  const Profile::At at(&profile, Phase::forward);
  CHECK(range_calls_seen.size() == 4);
}

}  // namespace flowtrain::profile_test
