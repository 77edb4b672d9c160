#include <cstring>

#include "sampling/datasets/entries.h"
#include "sampling/datasets/text/token_shard.h"
#include "tests/fuzz/support/data_set_target.h"
#include "tests/support/settings_helper.h"

namespace {

/// Reads the documents of a shard, and its windows.
void read_shard(flowtrain::fuzz::Bytes bytes) {
  const auto path = flowtrain::fuzz::as_file(bytes, "shard.tokens").string();
  const auto entry = flowtrain::tokens_entry();
  for (const std::int64_t window : {0, 3})
    read_all(*entry.make(flowtrain::settings_for(entry.keys, {{"path", path}, {"window", window}}), {}));
}

}  // namespace

// Takes the input as a shard, and as what follows a header that fits its length: then the places of two documents come
// first.
FUZZ_TARGET(token_shard) {
  using namespace flowtrain;
  TokenHeader header;
  constexpr std::size_t places = 3 * sizeof(std::uint64_t);
  if (input.size() >= places) {
    header.vocabulary = 1000;
    header.documents = 2;
    header.end = 999;
    header.ids = (input.size() - places) / header.width;
    std::vector<std::byte> shard(sizeof header);
    std::memcpy(shard.data(), &header, sizeof header);
    shard.insert(shard.end(), input.begin(), input.end() - static_cast<std::ptrdiff_t>((input.size() - places) % 2));
    try {
      read_shard(shard);
    } catch (const UserError&) {
    }
  }
  read_shard(input);
}
