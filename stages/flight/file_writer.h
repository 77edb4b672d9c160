#pragma once
// The writer's view of the flight recorder's file. Within this folder.

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "sampling/core/mutex.h"
#include "stages/flight/format.h"

namespace flowtrain::flight {

using AtomicWord = std::atomic<std::uint64_t>;
static_assert(AtomicWord::is_always_lock_free && sizeof(File<AtomicWord>) == sizeof(File<std::uint64_t>));
static_assert(sizeof(File<std::uint64_t>) <= 1u << 20);

/// Makes a file and maps it; the last thread that uses it unmaps it. If a store to a mapping could fail or wait for a
/// server, as on network file systems, the content is in memory, and save() writes it.
class FileWriter {
 public:
  /// Renames an existing file at `path` to `path` with ".1" before its extension. Throws UserError(snapshot).
  FileWriter(const std::filesystem::path& path, std::uint64_t rank, std::uint64_t world);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  File<AtomicWord>& content() { return *content_; }
  /// Writes the content if the file is not mapped. A failed write is skipped; the next call may succeed.
  void save() const;

  /// Returns the number of a place; 0 if there are too many.
  std::uint64_t place(const char* name, Kind kind) {
    for (std::size_t at = slot_of(name), tries = 0; tries < known_.size(); at = (at + 1) % known_.size(), ++tries) {
      const char* key = known_[at].name.load(std::memory_order_acquire);
      if (key == name) return known_[at].number.load(std::memory_order_relaxed);
      if (!key) break;
    }
    return learn(name, kind);
  }
  /// Returns a slot for a thread; most_threads if all are taken. The first one is slot 0.
  std::size_t take_slot(const char* name, std::uint64_t id);
  void free_slot(std::size_t slot);
  /// Returns the number of a queue; most_queues if there are too many.
  std::size_t queue(std::string_view name, std::uint64_t capacity);
  void failed(std::string_view message, std::uint64_t exit_code);

 private:
  struct Known {
    std::atomic<const char*> name{nullptr};
    AtomicWord number{0};
  };

  static std::size_t slot_of(const char* name) {
    return (reinterpret_cast<std::uintptr_t>(name) * 0x9e3779b97f4a7c15u >> 32) % known_places;
  }
  std::uint64_t learn(const char* name, Kind kind);
  void write_header(std::uint64_t rank, std::uint64_t world);
  void* map();

  static constexpr std::size_t known_places = 1024;

  int descriptor_ = -1;  // holds a lock while the process lives
  bool is_mapped_ = false;
  File<AtomicWord>* content_ = nullptr;
  std::array<Known, known_places> known_;
  Mutex mutex_;  // guards the tables of places, queues and threads
};

}  // namespace flowtrain::flight
