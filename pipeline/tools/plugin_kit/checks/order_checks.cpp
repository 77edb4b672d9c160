// The checks of orders.

#include <algorithm>

#include "pipeline/base/telemetry/format.h"
#include "pipeline/tools/plugin_kit/checks/checks.h"
#include "pipeline/tools/plugin_kit/hammer.h"
#include "pipeline/tools/plugin_kit/held.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain::plugin_kit {
namespace {

constexpr std::uint64_t most_positions = 10'000;

struct Position {
  std::uint64_t epoch, index;
};

/// Returns the first positions of some epochs.
std::vector<Position> some_positions(const Order& order) {
  std::vector<Position> positions;
  for (const std::uint64_t epoch : {0, 1, 1000})
    for (std::uint64_t i = 0; i < std::min(order.size(), most_positions); ++i) positions.push_back({epoch, i});
  return positions;
}

std::string name_of(const Position& position) { return concat("epoch ", position.epoch, ", index ", position.index); }

std::uint64_t id_at(const Order& order, const Position& position) { return order.at(position.epoch, position.index); }

/// Describes how often the first epoch visits each record.
std::string coverage(const Order& order, std::uint64_t records) {
  if (order.size() > 10'000'000 || records > 10'000'000) return "too large to count the records of an epoch";
  std::vector<std::uint32_t> times(records);
  for (std::uint64_t i = 0; i < order.size(); ++i) {
    const std::uint64_t id = order.at(0, i);
    if (id >= records)
      throw CheckFailure{concat(name_of({0, i}), ": the id is ", id, ", but the number of records is ", records),
                         "return ids below the number of records"};
    ++times[id];
  }
  const auto seen = static_cast<std::uint64_t>(std::ranges::count_if(times, [](auto count) { return count > 0; }));
  if (seen == records && order.size() == records) return "each record once in an epoch";
  return concat("an epoch has ", format_count(seen), " of ", format_count(records), " records in ",
                format_count(order.size()), " positions");
}

}  // namespace

void check_order_opens(const Subject& subject, Report& report) {
  std::unique_ptr<Order> order;
  try {
    order = subject.make_order();
  } catch (const UserError& error) {
    report.refuse(error.what());
    return;
  }
  if (order->size() == 0) throw CheckFailure{"an epoch has no positions", "return at least 1 in size()"};
}

void check_order_ids(const Subject& subject, Report& report) {
  const auto order = subject.make_order();
  const std::uint64_t records = subject.dataset().size();
  const auto positions = some_positions(*order);
  for (auto& position : positions) {
    report.at(name_of(position));
    if (const auto id = id_at(*order, position); id >= records)
      throw CheckFailure{concat(name_of(position), ": the id is ", id, ", but there are ", records, " records"),
                         "ids are 0 ... dataset.size() - 1"};
  }
  report.at("fill()");
  const std::uint64_t count = std::min(order->size(), most_positions);
  std::vector<std::uint64_t> ids(count);
  for (const std::uint64_t epoch : {0, 1}) {
    order->fill(epoch, 0, ids);
    for (std::uint64_t i = 0; i < count; ++i)
      if (ids[i] != order->at(epoch, i))
        throw CheckFailure{
            concat(name_of({epoch, i}), ": fill() gives id ", ids[i], ", but at() gives ", order->at(epoch, i)),
            "let fill() give the ids that at() gives"};
  }
  report.note(coverage(*order, records));
}

void check_order_same(const Subject& subject, Report& report) {
  const auto order = subject.make_order();
  auto positions = some_positions(*order);
  if (report.run() == 1) std::ranges::reverse(positions);
  for (auto& position : positions) {
    const auto id = id_at(*order, position);
    if (id_at(*order, position) != id)
      throw CheckFailure{name_of(position) + ": the id differs when it is asked for again",
                         "let the id depend only on the seed, the epoch and the index"};
    report.result(name_of(position), id);
  }
}

void check_order_threads(const Subject& subject, Report& report) {
  const auto order = subject.make_order();
  const auto positions = some_positions(*order);
  std::vector<std::uint64_t> expected;
  expected.reserve(positions.size());
  for (auto& position : positions) expected.push_back(id_at(*order, position));
  report.at("8 threads");
  hammer(positions.size(), "at() is called by any thread: it must change nothing", [&] {
    return [&](std::size_t i) -> std::optional<std::string> {
      if (id_at(*order, positions[i]) == expected[i]) return std::nullopt;
      return name_of(positions[i]) + ": the id that one of 8 threads got is not that of a single thread";
    };
  });
}

void check_order_leaks(const Subject& subject, Report& report) {
  {
    const auto order = subject.make_order();
    const auto positions = some_positions(*order);
    std::size_t next = 0;
    const auto call = [&] { id_at(*order, positions[next++ % positions.size()]); };
    report.at("calls of at()");
    check_memory("call of at()", affordable_calls(call), call);
  }
  report.at("orders are made and destroyed");
  check_threads_and_files([&] { subject.make_order(); });
  check_memory("order that is made and destroyed", 50, [&] { subject.make_order(); });
}

void measure_position(const Subject& subject, Report& report) {
  const auto order = subject.make_order();
  const auto positions = some_positions(*order);
  std::size_t next = 0;
  const double each_s = seconds_of([&] { id_at(*order, positions[next++ % positions.size()]); });
  report.note(printed("%.3f microseconds a position in one thread", each_s * 1e6));
}

}  // namespace flowtrain::plugin_kit
