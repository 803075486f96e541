// Numbers of the zip format (PKWARE's APPNOTE.TXT, sections 4.3 and 4.5).
#pragma once

#include <cstdint>

namespace assay::checkpoint {

inline constexpr uint32_t kLocalHeader = 0x04034b50;
inline constexpr uint32_t kDataDescriptor = 0x08074b50;
inline constexpr uint32_t kCentralHeader = 0x02014b50;
inline constexpr uint32_t kZip64End = 0x06064b50;
inline constexpr uint32_t kZip64Locator = 0x07064b50;
inline constexpr uint32_t kEndOfDirectory = 0x06054b50;

inline constexpr int kLocalHeaderBytes = 30;
inline constexpr int kCentralHeaderBytes = 46;
inline constexpr int kZip64EndBytes = 56;
inline constexpr int kZip64LocatorBytes = 20;
inline constexpr int kEndOfDirectoryBytes = 22;

inline constexpr uint16_t kZip64Extra = 0x0001;
/// The value of a 32-bit field whose number stands in the zip64 extra field, and the least that must.
inline constexpr int64_t kInZip64 = 0xffffffff;
inline constexpr uint16_t kInZip64Count = 0xffff;

inline constexpr uint16_t kUtf8Names = 0x0800;
inline constexpr uint16_t kHasDescriptor = 0x0008;
inline constexpr uint16_t kEncrypted = 0x0001;

}  // namespace assay::checkpoint
