#include "storage/gcs/multipart_related.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace assay::storage {

MultipartRelatedSource::MultipartRelatedSource(const std::string& resource, const std::string& content_type,
                                               http::BodySource& media)
    : media_(media) {
  // 128 random bits: the bytes of an object do not hold it.
  const std::string boundary = "assay-" + RandomUid();
  content_type_ = "multipart/related; boundary=" + boundary;
  head_ = "--" + boundary + "\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n" + resource + "\r\n--" +
          boundary + "\r\nContent-Type: " + content_type + "\r\n\r\n";
  tail_ = "\r\n--" + boundary + "--\r\n";
}

int64_t MultipartRelatedSource::bytes() const {
  return static_cast<int64_t>(head_.size() + tail_.size()) + media_.bytes();
}

size_t MultipartRelatedSource::ReadText(const std::string& text, size_t begin, std::span<std::byte> out) {
  const size_t count = std::min(out.size(), text.size() - begin);
  std::memcpy(out.data(), text.data() + begin, count);
  return count;
}

size_t MultipartRelatedSource::Read(std::span<std::byte> out) {
  const size_t media_end = head_.size() + static_cast<size_t>(media_.bytes());
  size_t count = 0;
  if (read_ < head_.size()) {
    count = ReadText(head_, read_, out);
  } else if (read_ < media_end) {
    count = media_.Read(out);
    if (count == kRefused) {
      return kRefused;
    }
  } else {
    count = ReadText(tail_, read_ - media_end, out);
  }
  read_ += count;
  return count;
}

void MultipartRelatedSource::Rewind() {
  media_.Rewind();
  read_ = 0;
}

}  // namespace assay::storage
