#include "storage/s3/s3_xml.h"

#include <algorithm>
#include <cctype>
#include <pugixml.hpp>
#include <sstream>

#include "http/message.h"
#include "storage/auth/time_format.h"
#include "storage/transfer/object_headers.h"

namespace assay::storage {
namespace {

/// The root of `body` when it has that name.
pugi::xml_node Root(pugi::xml_document& document, std::string_view body, const char* name) {
  const pugi::xml_parse_result parsed = document.load_buffer(body.data(), body.size());
  return parsed ? document.child(name) : pugi::xml_node();
}

/// Keys of lists, which were asked for with encoding-type=url: form encoding, so a plus is a space.
class KeyDecoder {
 public:
  explicit KeyDecoder(const pugi::xml_node& root) : encoded_(root.child_value("EncodingType") == std::string("url")) {}

  std::string operator()(const char* text) const {
    if (!encoded_) {
      return text;
    }
    std::string plain = text;
    std::replace(plain.begin(), plain.end(), '+', ' ');
    return http::PercentDecode(plain).value_or(text);
  }

 private:
  bool encoded_;
};

std::optional<Checksum> ChecksumChild(const pugi::xml_node& node) {
  if (node.child_value("ChecksumType") == std::string("COMPOSITE")) {
    return std::nullopt;
  }
  for (const ChecksumKind kind : {ChecksumKind::kCrc64Nvme, ChecksumKind::kCrc32c, ChecksumKind::kCrc32,
                                  ChecksumKind::kSha1, ChecksumKind::kSha256}) {
    const auto value = Base64Decode(node.child_value(("Checksum" + S3ChecksumName(kind)).c_str()));
    if (value && value->size() == DigestBytes(kind)) {
      return Checksum{kind, *value};
    }
  }
  return std::nullopt;
}

std::string TextOf(const pugi::xml_document& document) {
  std::ostringstream text;
  document.save(text, "", pugi::format_raw);
  return text.str();
}

void AddText(pugi::xml_node node, const char* name, const std::string& text) {
  node.append_child(name).text().set(text.c_str());
}

/// 0 for what is no number of a part.
int PartNumber(std::string_view text) {
  constexpr int64_t kMostParts = 10'000;
  const int64_t number = ParseCount(text).value_or(0);
  return number <= kMostParts ? static_cast<int>(number) : 0;
}

bool IsTrue(const pugi::xml_node& node, const char* name) {
  return node.child_value(name) == std::string("true");
}

}  // namespace

std::string S3ChecksumName(ChecksumKind kind) {
  std::string name(NameOf(kind));
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
  return name;
}

S3ErrorBody ParseS3Error(std::string_view body) {
  pugi::xml_document document;
  const pugi::xml_node error = Root(document, body, "Error");
  return {error.child_value("Code"), error.child_value("Message"), error.child_value("RequestId"),
          error.child_value("Region"), error.child_value("Endpoint")};
}

std::optional<std::string> ParseUploadId(std::string_view body) {
  pugi::xml_document document;
  const std::string id = Root(document, body, "InitiateMultipartUploadResult").child_value("UploadId");
  return id.empty() ? std::nullopt : std::optional<std::string>(id);
}

std::optional<ObjectInfo> ParseResultBody(std::string_view body) {
  pugi::xml_document document;
  for (const char* name : {"CompleteMultipartUploadResult", "CopyObjectResult", "CopyPartResult"}) {
    if (const pugi::xml_node root = Root(document, body, name)) {
      ObjectInfo info;
      info.etag = EtagOf(root.child_value("ETag"));
      info.modified = ParseIsoTime(root.child_value("LastModified")).value_or(0);
      info.checksum = ChecksumChild(root);
      return info;
    }
  }
  return std::nullopt;
}

std::optional<ListPage> ParseListPage(std::string_view body) {
  pugi::xml_document document;
  const pugi::xml_node root = Root(document, body, "ListBucketResult");
  if (!root) {
    return std::nullopt;
  }
  const KeyDecoder decode(root);
  ListPage page;
  for (const pugi::xml_node node : root.children("Contents")) {
    ObjectInfo info;
    info.key = decode(node.child_value("Key"));
    info.size = ParseCount(node.child_value("Size")).value_or(0);
    info.etag = EtagOf(node.child_value("ETag"));
    // Google's: it stands for the content as an etag does, and conditions name it.
    if (const std::string generation = node.child_value("Generation"); !generation.empty()) {
      info.etag = info.version = generation;
    }
    info.modified = ParseIsoTime(node.child_value("LastModified")).value_or(0);
    info.storage_class = node.child_value("StorageClass");
    page.objects.push_back(std::move(info));
  }
  for (const pugi::xml_node node : root.children("CommonPrefixes")) {
    page.prefixes.push_back(decode(node.child_value("Prefix")));
  }
  if (IsTrue(root, "IsTruncated")) {
    page.next_page_token = root.child_value("NextContinuationToken");
  }
  return page;
}

std::optional<UploadsPage> ParseUploads(std::string_view body) {
  pugi::xml_document document;
  const pugi::xml_node root = Root(document, body, "ListMultipartUploadsResult");
  if (!root) {
    return std::nullopt;
  }
  const KeyDecoder decode(root);
  UploadsPage page;
  for (const pugi::xml_node node : root.children("Upload")) {
    page.uploads.push_back({decode(node.child_value("Key")), node.child_value("UploadId"),
                            ParseIsoTime(node.child_value("Initiated")).value_or(0)});
  }
  if (IsTrue(root, "IsTruncated")) {
    page.next_key = decode(root.child_value("NextKeyMarker"));
    page.next_upload_id = root.child_value("NextUploadIdMarker");
  }
  return page;
}

std::optional<PartsPage> ParseParts(std::string_view body) {
  pugi::xml_document document;
  const pugi::xml_node root = Root(document, body, "ListPartsResult");
  if (!root) {
    return std::nullopt;
  }
  PartsPage page;
  for (const pugi::xml_node node : root.children("Part")) {
    UploadedPart part;
    part.number = PartNumber(node.child_value("PartNumber"));
    part.bytes = ParseCount(node.child_value("Size")).value_or(0);
    part.etag = EtagOf(node.child_value("ETag"));
    part.checksum = ChecksumChild(node);
    page.parts.push_back(std::move(part));
  }
  if (IsTrue(root, "IsTruncated")) {
    page.next_page = root.child_value("NextPartNumberMarker");
  }
  return page;
}

std::optional<std::vector<DeleteError>> ParseDeleteResult(std::string_view body) {
  pugi::xml_document document;
  const pugi::xml_node root = Root(document, body, "DeleteResult");
  if (!root) {
    return std::nullopt;
  }
  std::vector<DeleteError> errors;
  for (const pugi::xml_node node : root.children("Error")) {
    errors.push_back({node.child_value("Key"), node.child_value("Code"), node.child_value("Message")});
  }
  return errors;
}

std::string CompleteUploadBody(std::span<const UploadedPart> parts) {
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("CompleteMultipartUpload");
  root.append_attribute("xmlns") = "http://s3.amazonaws.com/doc/2006-03-01/";
  for (const UploadedPart& part : parts) {
    pugi::xml_node node = root.append_child("Part");
    AddText(node, "PartNumber", std::to_string(part.number));
    AddText(node, "ETag", '"' + part.etag + '"');
    if (part.checksum && part.checksum->kind != ChecksumKind::kMd5) {
      AddText(node, ("Checksum" + S3ChecksumName(part.checksum->kind)).c_str(), part.checksum->Base64());
    }
  }
  return TextOf(document);
}

std::string DeleteBody(std::span<const std::string> keys) {
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("Delete");
  root.append_attribute("xmlns") = "http://s3.amazonaws.com/doc/2006-03-01/";
  AddText(root, "Quiet", "true");
  for (const std::string& key : keys) {
    AddText(root.append_child("Object"), "Key", key);
  }
  return TextOf(document);
}

}  // namespace assay::storage
