// The framing of chunked bodies: RFC 9112 section 7.1, and S3's aws-chunked, which has the same form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "http/message.h"

namespace assay::http {

/// Reads the framing around the data of chunks and leaves the data to the caller, who can receive it where it belongs.
/// While data_remaining() is 0, bytes go to FeedFraming(); while it is not, that many bytes are data, of which the
/// caller reports each piece with ConsumeData().
class ChunkedDecoder {
 public:
  enum class State { kNeedMore, kDone, kError };

  /// Takes framing bytes up to the first byte of data or the end of the body; returns how many it took.
  size_t FeedFraming(std::string_view bytes);
  int64_t data_remaining() const { return data_remaining_; }
  void ConsumeData(int64_t bytes);

  State state() const { return state_; }
  const std::string& error() const { return error_; }
  int64_t chunk_bytes() const { return chunk_bytes_; }             ///< of the chunk begun last; 0: the last one
  bool last_chunk() const { return expected_ == Line::kTrailer; }  ///< the empty chunk has begun
  /// What stands after ';' in the size line of the chunk begun last.
  const std::string& extension() const { return extension_; }
  const Headers& trailers() const { return trailers_; }

 private:
  enum class Line { kSize, kDataEnd, kTrailer };

  void OnLine(std::string_view line);
  void OnSizeLine(std::string_view line);
  void Fail(std::string message);

  State state_ = State::kNeedMore;
  Line expected_ = Line::kSize;
  std::string line_;
  int64_t data_remaining_ = 0;
  int64_t chunk_bytes_ = 0;
  size_t trailer_bytes_ = 0;
  std::string extension_;
  std::string error_;
  Headers trailers_;
};

}  // namespace assay::http
