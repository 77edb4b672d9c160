#include "pipeline/engine/tensorboard/event_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

namespace flowtrain {

namespace {

constexpr std::size_t head_bytes = 12, tail_bytes = 4;

constexpr std::array<std::uint32_t, 256> make_crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0x82f63b78u : 0);
    table[i] = value;
  }
  return table;
}
constexpr auto crc_table = make_crc_table();

// Checksums of bytes that themselves hold checksums are masked, as TensorFlow's record_writer does.
std::uint32_t masked_crc(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

template <class Value>
std::string raw(Value value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

[[noreturn]] void fail_at(const std::filesystem::path& path, int reason) {
  throw std::system_error(reason, std::generic_category(), path.string());
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = ~0u;
  for (const char byte : bytes) crc = crc >> 8 ^ crc_table[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~crc;
}

std::string frame(std::string_view record) {
  const std::string length = raw(std::uint64_t{record.size()});
  std::string framed = length + raw(masked_crc(length));
  framed += record;
  return framed + raw(masked_crc(record));
}

EventFile::EventFile(const std::filesystem::path& path)
    : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644)) {
  if (file_ < 0) fail_at(path, errno);
}

EventFile::~EventFile() { ::close(file_); }

void EventFile::append(std::string_view framed) {
  struct stat before {};
  ::fstat(file_, &before);
  errno = 0;
  const ssize_t written = TEMP_FAILURE_RETRY(::write(file_, framed.data(), framed.size()));
  if (written == static_cast<ssize_t>(framed.size())) return;
  const int reason = errno != 0 ? errno : ENOSPC;                               // a short write sets no errno
  if (written > 0) static_cast<void>(::ftruncate(file_, before.st_size) == 0);  // otherwise the next start cuts it off
  throw std::system_error(reason, std::generic_category());
}

std::uint64_t each_record(const std::filesystem::path& path, const std::function<void(std::string_view)>& visit) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail_at(path, errno);
  const std::uint64_t size = std::filesystem::file_size(path);
  std::uint64_t done = 0;
  std::string head(head_bytes, '\0'), record;
  while (file.read(head.data(), head_bytes)) {
    std::uint64_t length = 0;
    std::memcpy(&length, head.data(), sizeof length);
    if (head.substr(sizeof length) != raw(masked_crc(head.substr(0, sizeof length)))) break;
    if (length > size - done - head_bytes) break;
    record.resize(length + tail_bytes);
    if (!file.read(record.data(), static_cast<std::streamsize>(record.size()))) break;
    const auto bytes = std::string_view(record).substr(0, length);
    if (record.substr(length) != raw(masked_crc(bytes))) break;
    visit(bytes);
    done += head_bytes + record.size();
  }
  return done;
}

}  // namespace flowtrain
