// Files made of others by chance: what nobody thought of. Without a look at the reader, unlike the fuzzers.

#include <algorithm>
#include <functional>

#include "sampling/core/random.h"
#include "tests/fuzz/hostile/hostile.h"

namespace flowtrain::hostile {
namespace {

constexpr std::size_t max_bytes = 2 << 20;

/// Where a piece begins, and how long it is; most are short.
struct Piece {
  std::size_t at, bytes;
};

Piece piece_of(const std::string& text, Stream& random) {
  const auto at = random.below(text.size());
  const auto longest = std::min(text.size() - at, std::size_t{1} << random.below(12));
  return {at, 1 + random.below(longest)};
}

void flip(std::string& text, Stream& random) {
  text[random.below(text.size())] ^= static_cast<char>(1 << random.below(8));
}

/// Lengths, counts and offsets at their limits, in any size and order of bytes.
void put_number(std::string& text, Stream& random) {
  constexpr std::uint64_t numbers[] = {0,          1,          0x7f,       0x80,       0xff,       0x7fff, 0xffff,
                                       0x7fffffff, 0x80000000, 0xffffffff, 1ull << 62, ~0ull >> 1, ~0ull};
  auto number = numbers[random.below(std::size(numbers))] - random.below(2);
  const auto bytes = std::min(std::size_t{1} << random.below(4), text.size());
  const auto at = random.below(text.size() - bytes + 1);
  const bool big_endian = random.below(2) == 1;
  for (std::size_t i = 0; i < bytes; ++i, number >>= 8)
    text[at + (big_endian ? bytes - 1 - i : i)] = static_cast<char>(number);
}

/// The same, where numbers are written out.
void write_number(std::string& text, Stream& random) {
  constexpr const char* numbers[] = {
      "0", "-1", "1e999", "nan", "4294967296", "9223372036854775808", "18446744073709551615", "77777777777"};
  const auto first = text.find_first_of("0123456789", random.below(text.size()));
  if (first == text.npos) return flip(text, random);
  const auto last = std::min(text.find_first_not_of("0123456789", first), text.size());
  text.replace(first, last - first, numbers[random.below(std::size(numbers))]);
}

void remove(std::string& text, Stream& random) {
  const auto [at, bytes] = piece_of(text, random);
  text.erase(at, bytes);
}

void cut(std::string& text, Stream& random) { text.resize(random.below(text.size())); }

void repeat(std::string& text, Stream& random) {
  const auto [at, bytes] = piece_of(text, random);
  const auto piece = text.substr(at, bytes);
  std::string more;
  for (auto times = 1ull << random.below(16); times > 0 && more.size() < max_bytes; --times) more += piece;
  text.insert(at, more);
}

}  // namespace

Case changed_by_chance(const std::vector<Case>& parents, std::uint64_t number) {
  Stream random(14, Purpose::sample, number);
  Case child = parents[random.below(parents.size())];
  child.what = "number " + std::to_string(number) + ", of: " + child.what;
  const auto join = [&](std::string& text, Stream&) {
    const auto& other = parents[random.below(parents.size())].bytes;
    if (!other.empty()) text = text.substr(0, random.below(text.size())) + other.substr(random.below(other.size()));
  };
  const std::function<void(std::string&, Stream&)> changes[] = {flip, put_number, write_number, remove,
                                                                cut,  repeat,     join};
  for (auto left = 1 + random.below(4); left > 0 && !child.bytes.empty(); --left)
    changes[random.below(std::size(changes))](child.bytes, random);
  child.bytes.resize(std::min(child.bytes.size(), max_bytes));
  return child;
}

}  // namespace flowtrain::hostile
