#include "cli/scalar_events.h"

#include <fmt/format.h>
#include <unistd.h>

#include <bit>
#include <chrono>
#include <cstring>
#include <utility>

#include "storage/integrity/checksum.h"

namespace assay::cli {
namespace {

static_assert(std::endian::native == std::endian::little);

/// Wire types of protocol buffers, beside a field's number in its key.
enum class Wire : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

void PutVarint(uint64_t number, std::string& out) {
  for (; number >= 0x80; number >>= 7) {
    out += static_cast<char>(number | 0x80);
  }
  out += static_cast<char>(number);
}

void PutKey(int field, Wire wire, std::string& out) {
  PutVarint(static_cast<uint64_t>(field) << 3 | static_cast<uint64_t>(wire), out);
}

template <typename T>
void PutRaw(T value, std::string& out) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void PutBytes(int field, std::string_view bytes, std::string& out) {
  PutKey(field, Wire::kBytes, out);
  PutVarint(bytes.size(), out);
  out += bytes;
}

double WallSeconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Event: wall_time = 1, step = 2.
std::string EventOf(int64_t step) {
  std::string event;
  PutKey(1, Wire::kFixed64, event);
  PutRaw(WallSeconds(), event);
  PutKey(2, Wire::kVarint, event);
  PutVarint(static_cast<uint64_t>(step), event);
  return event;
}

/// Summary.Value: tag = 1, simple_value = 2.
std::string ValueOf(const Scalar& scalar) {
  std::string value;
  PutBytes(1, scalar.tag, value);
  PutKey(2, Wire::kFixed32, value);
  PutRaw(static_cast<float>(scalar.value), value);
  return value;
}

uint32_t MaskedCrc(std::string_view bytes) {
  const uint32_t crc = storage::Crc32c(0, std::as_bytes(std::span(bytes)));
  return std::rotr(crc, 15) + 0xA282EAD8U;
}

}  // namespace

Result<ScalarEvents> ScalarEvents::Create(const std::string& folder) {
  char host[256] = {};
  ::gethostname(host, sizeof(host) - 1);
  const auto microseconds = static_cast<int64_t>(WallSeconds() * 1e6);
  ASSAY_ASSIGN_OR_RETURN(AppendFile file, AppendFile::Open(fmt::format("{}/events.out.tfevents.{}.{}.{}.{}", folder,
                                                                       microseconds / 1'000'000, host, ::getpid(),
                                                                       microseconds % 1'000'000)));
  ScalarEvents events(std::move(file));
  std::string first = EventOf(0);
  PutBytes(3, "brain.Event:2", first);  // file_version
  ASSAY_RETURN_IF_ERROR(events.WriteRecord(first));
  return events;
}

Status ScalarEvents::Write(int64_t step, std::span<const Scalar> scalars) {
  std::string summary;
  for (const Scalar& scalar : scalars) {
    PutBytes(1, ValueOf(scalar), summary);
  }
  std::string event = EventOf(step);
  PutBytes(5, summary, event);
  return WriteRecord(event);
}

Status ScalarEvents::BeginAt(int64_t step) {
  std::string session;  // SessionLog: status = 1, of which START is 1
  PutKey(1, Wire::kVarint, session);
  PutVarint(1, session);
  std::string event = EventOf(step);
  PutBytes(7, session, event);
  return WriteRecord(event);
}

Status ScalarEvents::WriteRecord(std::string_view event) {
  std::string length;
  PutRaw(static_cast<uint64_t>(event.size()), length);
  std::string record = length;
  PutRaw(MaskedCrc(length), record);
  record += event;
  PutRaw(MaskedCrc(event), record);
  return file_.Append(record);
}

}  // namespace assay::cli
