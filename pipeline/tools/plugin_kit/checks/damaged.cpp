// The check `damaged` uses damaged records whose bytes end at the end of a page: a read beyond ends the process.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <new>
#include <random>

#include "pipeline/tools/plugin_kit/checks/checks.h"
#include "pipeline/tools/plugin_kit/rows.h"
#include "sampling/core/text.h"

namespace flowtrain::plugin_kit {
namespace {

/// A copy of bytes that ends where the page after it cannot be read.
class PageEndBytes {
 public:
  explicit PageEndBytes(std::span<const std::byte> content) : size_(content.size()) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t readable = (size_ + page - 1) / page * page;
    mapped_ = readable + page;
    void* memory = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<std::byte*>(memory);
    ::mprotect(memory_ + readable, page, PROT_NONE);
    start_ = memory_ + readable - size_;
    std::ranges::copy(content, start_);
  }
  ~PageEndBytes() { ::munmap(memory_, mapped_); }
  PageEndBytes(const PageEndBytes&) = delete;
  PageEndBytes& operator=(const PageEndBytes&) = delete;

  std::span<const std::byte> bytes() const { return {start_, size_}; }

 private:
  std::size_t size_, mapped_;
  std::byte *memory_, *start_;
};

/// A record whose memory may be changed.
struct Damaged {
  std::string how;
  Record record;
  std::vector<std::byte> bytes;
  std::vector<Box> boxes;
  std::vector<Part> parts;
};

std::vector<Damaged> damage(const TrialRecord& trial, unsigned seed) {
  std::mt19937 random(seed);
  const auto copied = [](auto items) { return std::vector(items.begin(), items.end()); };
  const std::vector<std::byte> whole = copied(trial.record.bytes);
  std::vector<Damaged> all;
  const auto add = [&](std::string how, const std::function<void(Damaged&)>& change) {
    all.push_back({std::move(how), trial.record, whole, copied(trial.record.boxes), copied(trial.record.parts)});
    change(all.back());
  };
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, whole.size() / 2, whole.size() - 1})
    if (size < whole.size())
      add(concat("cut to ", size, " of ", whole.size(), " bytes"), [&](Damaged& record) { record.bytes.resize(size); });
  add("random bytes", [&](Damaged& record) {
    for (auto& byte : record.bytes) byte = static_cast<std::byte>(random());
  });
  if (!whole.empty())
    for (int i = 0; i < 4; ++i) {
      const std::size_t at = i < 2 ? random() % std::min<std::size_t>(whole.size(), 64) : random() % whole.size();
      add(concat("byte ", at, " changed"), [&](Damaged& record) { record.bytes[at] ^= static_cast<std::byte>(0xff); });
    }
  if (trial.record.height > 1)
    add("half as high", [&](Damaged& record) {
      record.record.height /= 2;
      record.bytes.resize(std::size_t{record.record.height} * record.record.width * record.record.channels);
    });
  for (std::size_t i = 0; i < trial.record.parts.size(); ++i) {
    const Part& part = trial.record.parts[i];
    for (const std::size_t size : {std::size_t{0}, part.bytes.size() / 2})
      add(concat("the part '", part.name, "' cut to ", size, " of ", part.bytes.size(), " bytes"),
          [&](Damaged& record) { record.parts[i].bytes = part.bytes.first(size); });
  }
  if (!trial.record.parts.empty()) add("no parts", [](Damaged& record) { record.parts.clear(); });
  add("no boxes", [](Damaged& record) { record.boxes.clear(); });
  add("no label", [](Damaged& record) { record.record.label = -1; });
  add("a label out of range", [](Damaged& record) { record.record.label = std::int64_t{1} << 40; });
  for (const float corner : {-1e30f, 1e30f, std::numeric_limits<float>::quiet_NaN()})
    if (!trial.record.boxes.empty())
      add(concat("a box with the corner ", corner), [&](Damaged& record) {
        record.boxes[0].x1 = corner;
        record.boxes[0].label = 1 << 30;
      });
  return all;
}

}  // namespace

void check_damaged(const Subject& subject, Report& report) {
  const auto sampler = subject.make_sampler();
  const Rows rows(sampler->fields());
  std::vector<std::int64_t> extents;
  std::size_t refused = 0, made = 0;
  for (unsigned number = 0; auto& trial : subject.records())
    for (auto& damaged : damage(trial, number++)) {
      const std::string place = trial.name + ", " + damaged.how;
      report.at(place);
      const PageEndBytes bytes(damaged.bytes), boxes(std::as_bytes(std::span(damaged.boxes)));
      damaged.record.bytes = bytes.bytes();
      damaged.record.boxes = {reinterpret_cast<const Box*>(boxes.bytes().data()), damaged.boxes.size()};
      std::deque<PageEndBytes> pieces;
      for (auto& part : damaged.parts) part.bytes = pieces.emplace_back(part.bytes).bytes();
      damaged.record.parts = damaged.parts;
      measure_row(*sampler, damaged.record, extents);
      ++(make_row(*sampler, damaged.record, number, rows) ? refused : made);
      rows.check_guards(place);
    }
  report.note(concat(refused, " of ", refused + made, " are reported"));
}

}  // namespace flowtrain::plugin_kit
