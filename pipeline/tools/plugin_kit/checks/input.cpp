// The check `input`.

#include <algorithm>
#include <cstring>
#include <deque>

#include "pipeline/tools/plugin_kit/checks/checks.h"
#include "pipeline/tools/plugin_kit/rows.h"
#include "sampling/core/text.h"

namespace flowtrain::plugin_kit {
namespace {

constexpr auto change_hint = "copy what is to be changed: records are shared, and may be mapped files";

void check_same(const std::string& name, const std::string& what, const GuardedBytes& now,
                std::span<const std::byte> before) {
  const auto at = std::ranges::mismatch(now.bytes(), before);
  if (at.in2 != before.end())
    throw CheckFailure{concat(name, ": byte ", at.in2 - before.begin(), " of the record's ", what, " was changed"),
                       change_hint};
  if (const auto outside = now.overwritten())
    throw CheckFailure{concat(name, ": memory outside of the record's ", what, " was changed, at byte ", *outside),
                       change_hint};
}

}  // namespace

void check_input(const Subject& subject, Report& report) {
  const auto sampler = subject.make_sampler();
  const Rows rows(sampler->fields());
  for (auto& item : items_of(subject)) {
    report.at(item.name());
    const Record& before = item.trial->record;
    GuardedBytes bytes(before.bytes), boxes(std::as_bytes(before.boxes));
    Record record = before;
    record.bytes = bytes.bytes();
    record.boxes = {reinterpret_cast<const Box*>(boxes.data()), before.boxes.size()};
    std::vector<Part> parts(before.parts.begin(), before.parts.end());
    std::deque<GuardedBytes> pieces;
    for (auto& part : parts) part.bytes = pieces.emplace_back(part.bytes).bytes();
    record.parts = parts;
    make_row(*sampler, record, item.position, rows);
    check_same(item.name(), "bytes", bytes, before.bytes);
    check_same(item.name(), "boxes", boxes, std::as_bytes(before.boxes));
    for (std::size_t i = 0; i < pieces.size(); ++i)
      check_same(item.name(), concat("part '", parts[i].name, "'"), pieces[i], before.parts[i].bytes);
  }
}

}  // namespace flowtrain::plugin_kit
