#include "pipeline/graph/schedule.h"

#include <doctest/doctest.h>

#include <cmath>

#include "pipeline/tools/advice.h"
#include "pipeline/train/run_state.h"
#include "sampling/core/error.h"
#include "tests/pipeline/rates.h"

using namespace flowtrain;
using flowtrain::testing::stepwise;

namespace {

// "lr1 b1 b1 v1 s1 …"
std::string told(const Schedule& schedule) {
  std::string text;
  const auto next = schedule.tickets();
  for (;;) {
    const Ticket ticket = next();
    const char* kind = ticket.kind == TicketKind::rates      ? "lr"
                       : ticket.kind == TicketKind::batch    ? "b"
                       : ticket.kind == TicketKind::validate ? "v"
                       : ticket.kind == TicketKind::snapshot ? "s"
                                                             : "end";
    text += (text.empty() ? "" : " ") + std::string(kind) + std::to_string(ticket.iteration);
    if (ticket.kind == TicketKind::end) return text;
  }
}

}  // namespace

TEST_CASE("tickets come in the order of a run") {
  Schedule schedule;
  schedule.last = 5;
  schedule.validate_every = 2;
  schedule.snapshot_every = 3;
  schedule.optimizers = {stepwise(3)};
  CHECK(told(schedule) == "lr1 b1 b2 v2 b3 s3 lr4 b4 v4 b5 v5 s5 end5");
  schedule.accum = 2;
  schedule.first = 5;
  CHECK(told(schedule) == "lr5 b5 b5 v5 s5 end5");
  schedule.validate_first = true;
  schedule.final_snapshot = false;
  CHECK(told(schedule) == "v4 lr5 b5 b5 v5 end5");
  schedule.first = 6;
  schedule.validate_first = false;
  CHECK(told(schedule) == "end5");
}

TEST_CASE("a run's state survives as text") {
  RunState state;
  state.iteration = 123;
  state.samples_per_epoch = 1000;
  const std::uint64_t ids[] = {5, 6, 7};
  state.order.update(std::as_bytes(std::span(ids)));
  state.losses = {0.1, 1.0 / 3};
  state.best = {{"best", {{100, 0.9}, {50, 0.8}}}};
  state.validation = {{"", {12, {7}}}, {"clean", {3, {}}}};
  state.validation_pending = true;
  state.awaited = AwaitedValidation{100, Figures{{"loss", 0.1}, {"f1", std::nan("")}}};
  state.bad_samples = {3, 4};
  state.elapsed_s = 1.5;
  state.classes = {"cat", "", "caf\xe9", "\"\n"};
  state.fingerprints = {{"data.train", "0123456789abcdef"}};
  auto again = RunState::from_json(state.to_json());
  CHECK(again.to_json() == state.to_json());
  CHECK(again.losses == state.losses);
  CHECK(again.classes == state.classes);  // also names that are not UTF-8
  CHECK(again.fingerprints == state.fingerprints);
  CHECK(again.awaited->figures->at(0) == state.awaited->figures->at(0));
  CHECK(std::isnan(again.awaited->figures->at(1).second));
  state.awaited->figures.reset();
  CHECK(RunState::from_json(state.to_json()).to_json() == state.to_json());
  again.order.update(std::as_bytes(std::span(ids)));
  state.order.update(std::as_bytes(std::span(ids)));
  CHECK(again.order.hex() == state.order.hex());
  for (const char* bad : {"", "{}", "[1]", "{\"iteration\": \"x\"}"})
    CHECK_THROWS_AS(RunState::from_json(bad), UserError);
}

TEST_CASE("the advice names the stage that the net waits for") {
  LineLoad load{{0.1, 9.7, 0}, 5, 2, 2, 2, 4};
  CHECK(waiting_advice(load) ==
        "the net waited for data 40.0 % of the time, for `sample` (2 workers, 97 % busy): raise loader.workers (there "
        "are 4 cores)");
  load.times = {9.9, 1, 0};
  CHECK(waiting_advice(load).find("for `read` (2 readers, 99 % busy): raise loader.readers") != std::string::npos);
  load.wait_s = 0.01;
  CHECK(waiting_advice(load) == "the net waited for data 0.20 % of the time");
}
