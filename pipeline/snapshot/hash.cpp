#include "pipeline/snapshot/hash.h"

#define XXH_STATIC_LINKING_ONLY  // the layout of the state, which save() and restore() copy
#include <xxhash.h>

#include <array>
#include <charconv>
#include <cstring>

#include "sampling/core/error.h"
#include "sampling/fingerprint.h"

namespace flowtrain {
namespace {

constexpr char digits[] = "0123456789abcdef";
constexpr std::size_t stripe_bytes = 32;  // xxHash64 holds back less than one stripe between updates
// What follows mem64, memsize and reserved32 is padding that reset() leaves alone.
constexpr std::size_t saved_bytes = offsetof(XXH64_state_t, reserved64);

std::string prefix() { return "xxh64-" + std::to_string(XXH_VERSION_NUMBER) + "-"; }

std::string hex_text(std::span<const unsigned char> bytes) {
  std::string text;
  for (const auto byte : bytes) (text += digits[byte >> 4]) += digits[byte & 15];
  return text;
}

UserError bad_state(const std::string& why) {
  return UserError(ExitCode::snapshot, "hash state: " + why, "go on with the build that wrote the snapshot");
}

}  // namespace

std::string xxh64_hex(std::span<const std::byte> bytes) { return hash_hex(XXH64(bytes.data(), bytes.size(), 0)); }
std::string xxh64_hex(std::string_view text) { return hash_hex(XXH64(text.data(), text.size(), 0)); }

Xxh64::Xxh64() : state_(XXH64_createState()) {
  if (!state_) throw std::bad_alloc();
  XXH64_reset(state_.get(), 0);
}

void Xxh64::Free::operator()(XXH64_state_s* state) const { XXH64_freeState(state); }

void Xxh64::update(std::span<const std::byte> bytes) {
  if (!bytes.empty()) XXH64_update(state_.get(), bytes.data(), bytes.size());
}

std::string Xxh64::hex() const { return hash_hex(XXH64_digest(state_.get())); }

std::string Xxh64::save() const {
  std::array<unsigned char, saved_bytes> raw;
  std::memcpy(raw.data(), state_.get(), raw.size());
  return prefix() + hex_text(raw);
}

Xxh64 Xxh64::restore(std::string_view text) {
  const auto expected = prefix();
  if (!text.starts_with(expected))
    throw bad_state("'" + std::string(text.substr(0, 16)) + "' was not written by xxHash " +
                    std::to_string(XXH_VERSION_NUMBER));
  text.remove_prefix(expected.size());
  if (text.size() != 2 * saved_bytes) throw bad_state("wrong length");
  std::array<unsigned char, saved_bytes> raw;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    const char* begin = text.data() + 2 * i;
    if (std::from_chars(begin, begin + 2, raw[i], 16).ptr != begin + 2) throw bad_state("not hexadecimal");
  }
  Xxh64 hash;
  std::memcpy(hash.state_.get(), raw.data(), raw.size());
  // Anything else would make xxHash read past its buffer.
  if (hash.state_->memsize >= stripe_bytes || hash.state_->memsize != hash.state_->total_len % stripe_bytes)
    throw bad_state("damaged");
  return hash;
}

}  // namespace flowtrain
