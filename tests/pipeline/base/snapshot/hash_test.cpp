#include "pipeline/base/snapshot/hash.h"

#include <doctest/doctest.h>

#include "tests/support/snapshot_fixture.h"

namespace flowtrain::hash_test {

using namespace flowtrain::test;

namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace

TEST_CASE("xxh64: the published values") {
  CHECK(xxh64_hex("") == "ef46db3751d8e999");
  CHECK(xxh64_hex("a") == "d24ec4f1a98c6e5b");
  CHECK(xxh64_hex("abc") == "44bc2cf5ad770999");
  CHECK(xxh64_hex(bytes_of("abc")) == xxh64_hex("abc"));
}

TEST_CASE("xxh64: a stream cut anywhere, saved and restored there, hashes as the whole") {
  std::string text;
  for (int i = 0; i < 150; ++i) text += static_cast<char>(i * 7);
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    Xxh64 first;
    first.update(bytes_of(text).first(cut));
    auto second = Xxh64::restore(first.save());
    CHECK(second.hex() == xxh64_hex(text.substr(0, cut)));
    second.update(bytes_of(text).subspan(cut));
    CHECK(second.hex() == xxh64_hex(text));
    CHECK(second.save() == Xxh64::restore(second.save()).save());
  }
}

TEST_CASE("xxh64: a saved state that save() cannot have written is refused") {
  Xxh64 hash;
  hash.update(bytes_of("abc"));
  const auto saved = hash.save();
  const auto refusal = [](const std::string& text) { return message_of([&] { Xxh64::restore(text); }); };
  for (const std::string text : {"", "xxh32-00"})
    CHECK(contains(refusal(text), "the saved state of a hash is not valid: expected 'xxh64-' and hexadecimal digits"));
  CHECK(contains(refusal(saved + "0"), "wrong length"));
  CHECK(contains(refusal(saved.substr(0, saved.size() - 2)), "wrong length"));
  CHECK(contains(refusal(saved.substr(0, saved.size() - 1) + "g"), "not hexadecimal"));
  CHECK(contains(refusal(saved.substr(0, saved.size() - 2) + "+1"), "not hexadecimal"));
}

TEST_CASE("xxh64: a stream of any pieces has the value of xxHash itself") {
  std::string text;
  for (int i = 0; i < 5'000; ++i) text += static_cast<char>(i * i + i / 7);
  for (std::size_t piece = 1; piece < 200; ++piece) {
    Xxh64 hash;
    for (std::size_t at = 0; at < text.size(); at += piece) hash.update(bytes_of(text.substr(at, piece)));
    CHECK(hash.hex() == xxh64_hex(text));
  }
}

}  // namespace flowtrain::hash_test
