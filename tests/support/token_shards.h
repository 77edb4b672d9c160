#pragma once
// Shards of token ids, made byte by byte: tests do not use what writes the real ones.

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace flowtrain {

/// Returns the bytes of a shard of documents (sampling/datasets/text/token_shard.h).
inline std::string token_shard(const std::vector<std::vector<std::uint32_t>>& documents, std::uint64_t vocabulary,
                               std::uint32_t end, std::uint32_t width = 2) {
  std::string bytes, ids;
  const auto put = [](std::string& to, auto number) {
    to.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  std::uint64_t count = 0;
  std::string places(8, '\0');
  for (const auto& document : documents) {
    for (const auto id : document) width == 2 ? put(ids, static_cast<std::uint16_t>(id)) : put(ids, id);
    put(places, count += document.size());
  }
  bytes = "flowtoks";
  for (const std::uint32_t number : {std::uint32_t{1}, width}) put(bytes, number);
  for (const std::uint64_t number : {count, std::uint64_t{documents.size()}, vocabulary}) put(bytes, number);
  for (const std::uint32_t number : {end, std::uint32_t{0}}) put(bytes, number);
  for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{documents.size()}, std::uint64_t{0}})
    put(bytes, number);
  return bytes + places + ids;
}

}  // namespace flowtrain
