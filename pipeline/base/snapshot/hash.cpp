#include "pipeline/base/snapshot/hash.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "sampling/core/error.h"
#include "sampling/core/parse.h"
#include "sampling/fingerprint.h"

namespace flowtrain {
namespace {

constexpr std::string_view prefix = "xxh64-";
constexpr std::uint64_t prime1 = 0x9E3779B185EBCA87, prime2 = 0xC2B2AE3D27D4EB4F, prime3 = 0x165667B19E3779F9,
                        prime4 = 0x85EBCA77C2B2AE63, prime5 = 0x27D4EB2F165667C5;

template <typename Word>
Word word_at(const std::byte* bytes) {
  static_assert(std::endian::native == std::endian::little);
  Word word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

std::uint64_t mixed(std::uint64_t lane, std::uint64_t word) { return std::rotl(lane + word * prime2, 31) * prime1; }

UserError bad_state(const std::string& why) {
  return UserError(ExitCode::snapshot, "the saved state of a hash is not valid: " + why,
                   "use the build that wrote the snapshot");
}

}  // namespace

std::string xxh64_hex(std::span<const std::byte> bytes) { return hash_hex(XXH64(bytes.data(), bytes.size(), 0)); }
std::string xxh64_hex(std::string_view text) { return hash_hex(XXH64(text.data(), text.size(), 0)); }

Xxh64::Xxh64() : lanes_{prime1 + prime2, prime2, 0, 0 - prime1} {}

void Xxh64::mix(const std::byte* stripe) {
  for (std::size_t i = 0; i < lanes_.size(); ++i) lanes_[i] = mixed(lanes_[i], word_at<std::uint64_t>(stripe + 8 * i));
}

void Xxh64::update(std::span<const std::byte> bytes) {
  const auto held = static_cast<std::size_t>(total_bytes_ % stripe_bytes);
  total_bytes_ += bytes.size();
  if (held > 0) {
    const auto taken = std::min(stripe_bytes - held, bytes.size());
    std::ranges::copy(bytes.first(taken), held_.begin() + static_cast<std::ptrdiff_t>(held));
    bytes = bytes.subspan(taken);
    if (held + taken < stripe_bytes) return;
    mix(held_.data());
  }
  for (; bytes.size() >= stripe_bytes; bytes = bytes.subspan(stripe_bytes)) mix(bytes.data());
  std::ranges::copy(bytes, held_.begin());
}

std::string Xxh64::hex() const {
  std::uint64_t hash = prime5;
  if (total_bytes_ >= stripe_bytes) {
    constexpr std::array turns{1, 7, 12, 18};
    hash = 0;
    for (std::size_t i = 0; i < lanes_.size(); ++i) hash += std::rotl(lanes_[i], turns[i]);
    for (const auto lane : lanes_) hash = (hash ^ mixed(0, lane)) * prime1 + prime4;
  }
  hash += total_bytes_;
  const std::byte* next = held_.data();
  const std::byte* end = next + total_bytes_ % stripe_bytes;
  for (; end - next >= 8; next += 8)
    hash = std::rotl(hash ^ mixed(0, word_at<std::uint64_t>(next)), 27) * prime1 + prime4;
  for (; end - next >= 4; next += 4)
    hash = std::rotl(hash ^ word_at<std::uint32_t>(next) * prime1, 23) * prime2 + prime3;
  for (; next != end; ++next) hash = std::rotl(hash ^ std::to_integer<std::uint64_t>(*next) * prime5, 11) * prime1;
  hash = (hash ^ hash >> 33) * prime2;
  hash = (hash ^ hash >> 29) * prime3;
  return hash_hex(hash ^ hash >> 32);
}

std::string Xxh64::save() const {
  std::string text(prefix);
  text += hash_hex(total_bytes_);
  for (const auto lane : lanes_) text += hash_hex(lane);
  for (const auto byte : std::span(held_).first(total_bytes_ % stripe_bytes))
    text += hash_hex(std::to_integer<std::uint64_t>(byte)).substr(14);
  return text;
}

Xxh64 Xxh64::restore(std::string_view text) {
  if (!text.starts_with(prefix)) throw bad_state("expected 'xxh64-' and hexadecimal digits");
  text.remove_prefix(prefix.size());
  const auto next = [&](std::size_t digits) {
    if (text.size() < digits) throw bad_state("wrong length");
    const auto value = parse_number<std::uint64_t>(text.substr(0, digits), 16);
    if (!value) throw bad_state("not hexadecimal");
    text.remove_prefix(digits);
    return *value;
  };
  Xxh64 hash;
  hash.total_bytes_ = next(16);
  for (auto& lane : hash.lanes_) lane = next(16);
  for (auto& byte : std::span(hash.held_).first(hash.total_bytes_ % stripe_bytes)) byte = std::byte(next(2));
  if (!text.empty()) throw bad_state("wrong length");
  return hash;
}

}  // namespace flowtrain
