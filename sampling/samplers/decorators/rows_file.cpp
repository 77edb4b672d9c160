#include "sampling/samplers/decorators/rows_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <system_error>

#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "sampling/fingerprint.h"

namespace flowtrain {
namespace {

constexpr std::string_view magic = "FTROWS1\n";
constexpr std::size_t alignment = 64;
constexpr std::size_t least_payload = 240;  // room for the reason why a record is bad

struct SlotHead {
  std::uint64_t id;
  std::uint64_t fingerprint;
  std::uint64_t kind;  // 0: a row; otherwise 1 + the length of a reason
};

SlotHead head_at(const std::byte* slot) {
  SlotHead head;
  std::memcpy(&head, slot, sizeof head);
  return head;
}

std::size_t aligned(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

std::size_t payload_of(const std::vector<Field>& fields) {
  std::size_t bytes = 0;
  for (auto& field : fields) bytes += field.row_bytes();
  return std::max(bytes, least_payload);
}

std::size_t slot_of(const std::vector<Field>& fields) { return aligned(sizeof(SlotHead) + payload_of(fields)); }

/// What stands before the slots.
std::string head_of(const std::string& description) {
  const std::uint64_t length = description.size();
  std::string head(magic);
  head.append(reinterpret_cast<const char*>(&length), sizeof length);
  head += description;
  head.resize(aligned(head.size()));
  return head;
}

UserError disk_error(const std::string& file, const char* what) {
  return UserError(ExitCode::snapshot, concat(file, ": ", what, ": ", std::generic_category().message(errno)),
                   "make room, or name another folder in sampler.rows");
}

SampleError another_record(const std::string& file) {
  return SampleError("it is not the record whose row " + file + " has; other data want another folder (sampler.rows)");
}

/// Throws where `head`, the file's beginning, is not that of `description`.
void check_head(const std::string& file, const std::string& head, const std::string& description) {
  if (!head.starts_with(magic))
    throw UserError(ExitCode::data, file + ": not a file of rows", "name another folder in sampler.rows");
  if (head == head_of(description)) return;
  if (head.size() < head_of(description).size())
    throw UserError(ExitCode::data, file + ": its beginning is cut short", "delete it, and record the rows again");
  std::istringstream was(head.substr(magic.size() + sizeof(std::uint64_t))), is(description);
  std::string old_line, line;
  while (std::getline(was, old_line) && std::getline(is, line) && old_line == line) {
  }
  throw UserError(ExitCode::usage,
                  concat(file, ": its rows were recorded with other settings: ", old_line, ", now ", line),
                  "undo the change, or record the rows again into another folder (sampler.rows)");
}

std::uint64_t size_of_file(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

std::string read_head(int descriptor, std::size_t length) {
  std::string head(length, '\0');
  const ssize_t got = ::pread(descriptor, head.data(), length, 0);
  head.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return head;
}

/// One process at a time writes.
class FileLock {
 public:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {
    while (::flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~FileLock() { ::flock(descriptor_, LOCK_UN); }
  FileLock(const FileLock&) = delete;

 private:
  int descriptor_;
};

void write_whole(int descriptor, const void* bytes, std::size_t count, const std::string& file) {
  const ssize_t written = ::write(descriptor, bytes, count);
  if (written == static_cast<ssize_t>(count)) return;
  if (written >= 0) errno = ENOSPC;
  throw disk_error(file, "cannot be written");
}

}  // namespace

RowsWriter::RowsWriter(const std::filesystem::path& file, const std::vector<Field>& fields,
                       const std::string& description)
    : file_(file.string()), slot_bytes_(slot_of(fields)) {
  for (auto& field : fields) row_bytes_.push_back(field.row_bytes());
  std::error_code ignored;  // the file then cannot be made, either
  std::filesystem::create_directories(file.parent_path(), ignored);
  descriptor_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) throw disk_error(file_, "cannot be made");
  try {
    const std::string head = head_of(description);
    const FileLock lock(descriptor_);
    if (size_of_file(descriptor_) == 0) try {
        write_whole(descriptor_, head.data(), head.size(), file_);
      } catch (...) {
        static_cast<void>(!::ftruncate(descriptor_, 0));  // no part of it stays
        throw;
      }
    check_head(file_, read_head(descriptor_, head.size()), description);
    // A process that was killed may have left a part of a slot.
    const std::uint64_t slots = (size_of_file(descriptor_) - head.size()) / slot_bytes_;
    if (::ftruncate(descriptor_, static_cast<off_t>(head.size() + slots * slot_bytes_)) != 0)
      throw disk_error(file_, "cannot be written");
    const MutexLock own(mutex_);
    end_ = head.size();
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

RowsWriter::~RowsWriter() { ::close(descriptor_); }

void RowsWriter::add(const Record& record, Row row) {
  thread_local std::vector<std::byte> slot;
  slot.assign(slot_bytes_, std::byte{0});
  std::byte* next = slot.data() + sizeof(SlotHead);
  for (std::size_t i = 0; i < row.size(); next += row_bytes_[i++]) std::memcpy(next, row[i], row_bytes_[i]);
  append(record, slot);
}

void RowsWriter::add_bad(const Record& record, std::string_view reason) {
  std::vector<std::byte> slot(slot_bytes_);
  reason = reason.substr(0, slot_bytes_ - sizeof(SlotHead));
  const SlotHead head{0, 0, 1 + reason.size()};
  std::memcpy(slot.data(), &head, sizeof head);
  std::memcpy(slot.data() + sizeof head, reason.data(), reason.size());
  append(record, slot);
}

void RowsWriter::append(const Record& record, std::vector<std::byte>& slot) {
  const SlotHead head{record.id, fingerprint_of(record), head_at(slot.data()).kind};
  std::memcpy(slot.data(), &head, sizeof head);
  const MutexLock lock(mutex_);
  if (known_.contains(head.id)) return check_known(head.id, head.fingerprint);
  const FileLock file_lock(descriptor_);
  read_new_slots();
  if (!known_.emplace(head.id, head.fingerprint).second) return check_known(head.id, head.fingerprint);
  try {
    write_whole(descriptor_, slot.data(), slot.size(), file_);
  } catch (...) {
    static_cast<void>(!::ftruncate(descriptor_, static_cast<off_t>(end_)));  // no part of a slot stays
    throw;
  }
  end_ += slot_bytes_;
}

void RowsWriter::check_known(std::uint64_t id, std::uint64_t fingerprint) const {
  if (known_.at(id) != fingerprint) throw another_record(file_);
}

// Other processes have written them.
void RowsWriter::read_new_slots() {
  for (const std::uint64_t size = size_of_file(descriptor_); end_ + slot_bytes_ <= size; end_ += slot_bytes_) {
    SlotHead head;
    if (::pread(descriptor_, &head, sizeof head, static_cast<off_t>(end_)) != sizeof head)
      throw disk_error(file_, "cannot be read");
    known_.emplace(head.id, head.fingerprint);
  }
}

RowsReader::RowsReader(const std::filesystem::path& file, const std::vector<Field>& fields,
                       const std::string& description)
    : file_(file.string()) {
  const int descriptor = ::open(file_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    throw UserError(ExitCode::data, concat(file_, ": ", std::generic_category().message(errno)),
                    "record the rows first: sampler.name = \"record\", with the same sampler.rows");
  bytes_ = size_of_file(descriptor);
  void* memory = bytes_ > 0 ? ::mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, descriptor, 0) : MAP_FAILED;
  ::close(descriptor);
  if (memory == MAP_FAILED) throw UserError(ExitCode::data, file_ + ": not a file of rows", "record the rows again");
  memory_ = static_cast<const std::byte*>(memory);
  const std::size_t start = head_of(description).size(), slot_bytes = slot_of(fields);
  try {
    check_head(file_, {reinterpret_cast<const char*>(memory_), std::min(start, bytes_)}, description);
  } catch (...) {
    ::munmap(memory, bytes_);
    throw;
  }
  for (std::size_t at = start; at + slot_bytes <= bytes_; at += slot_bytes) {
    slots_.emplace(head_at(memory_ + at).id, memory_ + at);
  }
}

RowsReader::~RowsReader() { ::munmap(const_cast<std::byte*>(memory_), bytes_); }

StoredRow RowsReader::find(const Record& record) const {
  const auto found = slots_.find(record.id);
  if (found == slots_.end())
    throw UserError(ExitCode::data, concat(file_, ": has no row of record ", record.id),
                    "record more of the stream: run it longer with sampler.name = \"record\"");
  const SlotHead head = head_at(found->second);
  if (head.fingerprint != fingerprint_of(record)) throw another_record(file_);
  const std::byte* payload = found->second + sizeof head;
  if (head.kind == 0) return {false, payload};
  return {true, nullptr, {reinterpret_cast<const char*>(payload), static_cast<std::size_t>(head.kind - 1)}};
}

}  // namespace flowtrain
