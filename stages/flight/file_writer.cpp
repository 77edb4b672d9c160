#include "stages/flight/file_writer.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <system_error>

#include "sampling/core/error.h"
#include "stages/flight/boot.h"
#include "stages/system/host_name.h"
#include "stages/system/wall_time.h"

namespace flowtrain::flight {

namespace {

UserError cannot_make(const std::filesystem::path& path, int error) {
  return UserError(ExitCode::snapshot,
                   "no flight record, " + path.string() + ": " + std::generic_category().message(error),
                   "check the folder's permissions and the room on its disk");
}

template <std::size_t Size>
void put(char (&to)[Size], std::string_view text) {
  std::memset(to, 0, Size);
  std::memcpy(to, text.data(), std::min(Size, text.size()));
}

std::string_view text_in(const char* text, std::size_t size) { return {text, ::strnlen(text, size)}; }

std::uint64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count());
}

// Returns whether a store to a mapping of the file can neither fail nor wait for a server. A copy-on-write file system
// may run out of space, and a remote one may be gone: the kernel would kill the process.
bool is_safe_to_map(int descriptor) {
  struct statfs system {};
  if (::fstatfs(descriptor, &system) != 0) return false;
  switch (static_cast<unsigned long>(system.f_type)) {
    case EXT4_SUPER_MAGIC:
    case XFS_SUPER_MAGIC:
    case TMPFS_MAGIC:
    case OVERLAYFS_SUPER_MAGIC: return true;
    default: return false;
  }
}

}  // namespace

FileWriter::FileWriter(const std::filesystem::path& path, std::uint64_t rank, std::uint64_t world) {
  auto former = path;
  former.replace_extension(".1" + path.extension().string());
  if (::rename(path.c_str(), former.c_str()) != 0 && errno != ENOENT) throw cannot_make(path, errno);
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0) throw cannot_make(path, errno);
  // The space is allocated first: with a full disk, a store to the mapping would kill the process.
  int error = ::posix_fallocate(descriptor_, 0, sizeof(File<AtomicWord>));
  void* memory = MAP_FAILED;
  if (error == 0) {
    memory = map();
    if (memory == MAP_FAILED) error = errno;
  }
  if (error != 0) {
    ::unlink(path.c_str());
    ::close(descriptor_);
    throw cannot_make(path, error);
  }
  content_ = static_cast<File<AtomicWord>*>(memory);
  write_header(rank, world);
  save();
}

void* FileWriter::map() {
  is_mapped_ = is_safe_to_map(descriptor_);
  return ::mmap(nullptr, sizeof(File<AtomicWord>), PROT_READ | PROT_WRITE,
                is_mapped_ ? MAP_SHARED | MAP_POPULATE : MAP_PRIVATE | MAP_ANONYMOUS, is_mapped_ ? descriptor_ : -1, 0);
}

// Other threads may write meanwhile, as they may while a reader copies the file.
void FileWriter::save() const {
  if (is_mapped_) return;
  const auto* bytes = reinterpret_cast<const char*>(content_);
  for (std::size_t done = 0; done < sizeof(File<AtomicWord>);) {
    const auto written = ::pwrite(descriptor_, bytes + done, sizeof(File<AtomicWord>) - done, static_cast<off_t>(done));
    if (written <= 0) return;
    done += static_cast<std::size_t>(written);
  }
}

FileWriter::~FileWriter() {
  save();
  ::munmap(content_, sizeof(File<AtomicWord>));
  ::close(descriptor_);
}

void FileWriter::write_header(std::uint64_t rank, std::uint64_t world) {
  auto& header = content_->header;
  header.version = version;
  header.file_bytes = sizeof(File<AtomicWord>);
  header.rank = rank;
  header.world = world;
  header.pid = static_cast<std::uint64_t>(::getpid());
  header.boot = boot_hash();
  header.started_ns = header.alive_ns = now_ns();
  header.wall_ns = static_cast<std::uint64_t>(1e9 * wall_time_s());
  header.places = 1;
  // The lock tells readers of the file that the process lives.
  struct stat file {};
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 && ::fstat(descriptor_, &file) == 0)
    header.locked_inode = file.st_ino;
  put(header.host, host_name());
  std::atomic_signal_fence(std::memory_order_release);
  std::memcpy(header.magic, magic, sizeof magic);
}

std::uint64_t FileWriter::learn(const char* name, Kind kind) {
  MutexLock lock(mutex_);
  auto& places = content_->places;
  const std::uint64_t count = content_->header.places;
  const std::string_view text = std::string_view(name).substr(0, sizeof places[0].text);
  std::uint64_t number = 1;
  while (number < count && text_in(places[number].text, sizeof places[number].text) != text) ++number;
  if (number == most_places) return 0;
  if (number == count) {
    places[number].kind = static_cast<std::uint64_t>(kind);
    put(places[number].text, text);
    content_->header.places = count + 1;
  }
  for (std::size_t at = slot_of(name), tries = 0; tries < known_.size(); at = (at + 1) % known_.size(), ++tries) {
    const char* key = known_[at].name.load(std::memory_order_relaxed);
    if (key == name) break;  // another thread was quicker
    if (key) continue;
    known_[at].number.store(number, std::memory_order_relaxed);
    known_[at].name.store(name, std::memory_order_release);
    break;
  }
  return number;
}

// A thread takes the slot of an ended one of its name, as the threads that write snapshots do, or an unused or free
// one.
std::size_t FileWriter::take_slot(const char* name, std::uint64_t id) {
  MutexLock lock(mutex_);
  auto& threads = content_->threads;
  const auto state = [&](std::size_t i) { return static_cast<SlotState>(threads[i].state.load()); };
  const auto first = [&](auto condition) {
    std::size_t i = 0;
    while (i < most_threads && !condition(i)) ++i;
    return i;
  };
  std::size_t slot = first([&](std::size_t i) {
    return state(i) == SlotState::ended && text_in(threads[i].name, sizeof threads[i].name) == name;
  });
  if (slot == most_threads) slot = first([&](std::size_t i) { return state(i) == SlotState::unused; });
  if (slot == most_threads) slot = first([&](std::size_t i) { return state(i) == SlotState::ended; });
  if (slot == most_threads) {
    ++content_->header.threads_without_place;
    return slot;
  }
  auto& thread = threads[slot];
  put(thread.name, name);
  thread.id = id;
  thread.text_sample = ~std::uint64_t{0};
  thread.sample_span_ns = 0;
  thread.depth = 0;
  thread.state = static_cast<std::uint64_t>(SlotState::used);
  return slot;
}

void FileWriter::free_slot(std::size_t slot) {
  MutexLock lock(mutex_);
  content_->threads[slot].depth = 0;
  content_->threads[slot].state = static_cast<std::uint64_t>(SlotState::ended);
}

std::size_t FileWriter::queue(std::string_view name, std::uint64_t capacity) {
  MutexLock lock(mutex_);
  auto& queues = content_->queues;
  const std::uint64_t count = content_->header.queues;
  std::size_t number = 0;
  while (number < count && text_in(queues[number].text, sizeof queues[number].text) != name) ++number;
  if (number == most_queues) return number;
  queues[number].fill = 0;
  queues[number].capacity = capacity;
  if (number == count) {
    put(queues[number].text, name);
    content_->header.queues = count + 1;
  }
  return number;
}

void FileWriter::failed(std::string_view message, std::uint64_t exit_code) {
  MutexLock lock(mutex_);
  auto& header = content_->header;
  if (header.end != static_cast<std::uint64_t>(End::none)) return;
  put(header.message, message);
  header.exit_code = exit_code;
  header.end = static_cast<std::uint64_t>(End::failed);
}

}  // namespace flowtrain::flight
