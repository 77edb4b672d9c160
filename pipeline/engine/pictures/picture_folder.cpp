#include "pipeline/engine/pictures/picture_folder.h"

#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include "pipeline/base/snapshot/atomic_folder.h"
#include "pipeline/base/snapshot/snapshot_files.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/engine/pictures/picture_files.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace {

namespace fs = std::filesystem;

void write_set(const fs::path& folder, const ShownSamples& shown, std::uint64_t iteration) {
  make_folders(folder);
  for (auto& [name, bytes] : picture_files(shown, iteration)) {
    File file = File::create(folder / name);
    file.write(bytes);
    file.close();  // unsynced: a power cut may cost pictures, but no snapshot waits longer for them
  }
}

// Returns the folders of pictures, the newest first.
std::map<std::uint64_t, fs::path, std::greater<>> pictures_in(const fs::path& folder) {
  std::map<std::uint64_t, fs::path, std::greater<>> all;
  for (auto& name : names_in(folder))
    if (const auto iteration = snapshot_iteration(name)) all.emplace(*iteration, folder / name);
  return all;
}

}  // namespace

// The temporary name is one of is_leftover().
void write_pictures(const fs::path& folder, std::uint64_t iteration, std::span<const ShownSamples> samples) {
  const fs::path place = folder / snapshot_name(iteration),
                 temporary = folder / concat(snapshot_name(iteration), ".tmp-", ::getpid());
  try {
    make_folders(temporary);
    for (auto& shown : samples) write_set(shown.set.empty() ? temporary : temporary / shown.set, shown, iteration);
    if (fs::exists(place)) trash(place);
    rename_path(temporary, place);
  } catch (...) {
    remove_quietly(temporary);
    throw;
  }
}

void prune_pictures(const fs::path& folder, std::size_t keep_last, const Every& keep_every,
                    std::span<const std::uint64_t> best) {
  std::size_t newer = 0;
  for (auto& [iteration, path] : pictures_in(folder)) {
    const bool stays = newer++ < keep_last || std::ranges::count(best, iteration) > 0 || keep_every.ends(iteration);
    if (!stays) trash(path);
  }
}

void remove_pictures_after(const fs::path& folder, std::uint64_t last) try {
  for (auto& name : names_in(folder)) {
    const auto iteration = snapshot_iteration(name);
    if (is_leftover(name))
      remove_quietly(folder / name);
    else if (iteration && *iteration > last)
      trash(folder / name);
  }
} catch (const UserError& error) {
  log_warn(concat("pictures of iterations after ", last, " stay: ", error.what()));
}

}  // namespace flowtrain
