#include "sampling/io/path_hash.h"

#include <xxhash.h>

#include <fstream>
#include <memory>
#include <stdexcept>
#include <vector>

#include "sampling/fingerprint.h"
#include "sampling/io/files.h"

namespace flowtrain {

std::optional<std::string> xxh64_of_path(const std::string& path) {
  if (is_folder(path) || path.ends_with(".tar")) try {
      const Files files(path);
      std::uint64_t hash = 0;
      for (std::size_t i = 0; i < files.size(); ++i)
        hash = fingerprint_of(files.size_bytes(i), fingerprint_of(files.name(i), hash));
      return hash_hex(hash);
    } catch (const std::runtime_error&) {
      return {};
    }
  std::ifstream file(path, std::ios::binary);
  if (!file) return {};
  const std::unique_ptr<XXH64_state_t, decltype(&XXH64_freeState)> hash(XXH64_createState(), XXH64_freeState);
  XXH64_reset(hash.get(), 0);
  std::vector<char> piece(std::size_t{1} << 20);
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())) || file.gcount() > 0)
    XXH64_update(hash.get(), piece.data(), static_cast<std::size_t>(file.gcount()));
  return hash_hex(XXH64_digest(hash.get()));
}

}  // namespace flowtrain
