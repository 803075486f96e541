#include "storage/s3/s3_xml.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "http/message.h"
#include "storage/auth/time_format.h"
#include "storage/list_checks.h"
#include "storage/s3/xml_document.h"
#include "storage/transfer/object_headers.h"

namespace assay::storage {
namespace {

/// Keys of lists, which were asked for with encoding-type=url: form encoding, so a plus is a space.
class KeyDecoder {
 public:
  explicit KeyDecoder(const pugi::xml_node& root) : encoded_(root.child_value("EncodingType") == std::string("url")) {}

  Result<std::string> operator()(const char* text) const {
    if (!encoded_) {
      return std::string(text);
    }
    std::string plain = text;
    std::replace(plain.begin(), plain.end(), '+', ' ');
    auto decoded = http::PercentDecode(plain);
    return decoded ? Result<std::string>(*std::move(decoded))
                   : ContradictoryList("it says that its keys are encoded, and '" + plain + "' is not");
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
  const int64_t number = ParseCount(text).value_or(0);
  return number <= kMaxParts ? static_cast<int>(number) : 0;
}

Result<int64_t> SizeOf(const pugi::xml_node& node) {
  const auto size = ParseCount(node.child_value("Size"));
  return size ? Result<int64_t>(*size)
              : ContradictoryList(std::string("it gives a size as '") + node.child_value("Size") + "'");
}

/// What names the next page, under `name`; empty for the last one.
Result<std::string> NextPage(const pugi::xml_node& root, const char* name) {
  const std::string truncated = root.child_value("IsTruncated");
  const std::string next = root.child_value(name);
  if (truncated == "false") {
    return std::string();
  }
  if (truncated.empty()) {
    return next;
  }
  if (truncated != "true" || next.empty()) {
    return ContradictoryList("it goes on (IsTruncated) and does not say where (" + std::string(name) + ")");
  }
  return next;
}

Result<ObjectInfo> ListedObject(const pugi::xml_node& node, const KeyDecoder& decode) {
  ObjectInfo info;
  ASSAY_ASSIGN_OR_RETURN(info.key, decode(node.child_value("Key")));
  ASSAY_ASSIGN_OR_RETURN(info.size, SizeOf(node));
  info.etag = EtagOf(node.child_value("ETag"));
  // Google's: it stands for the content as an etag does, and conditions name it.
  if (const std::string generation = node.child_value("Generation"); !generation.empty()) {
    info.etag = info.version = generation;
  }
  info.modified = ParseIsoTime(node.child_value("LastModified")).value_or(0);
  info.storage_class = node.child_value("StorageClass");
  return info;
}

Status NoDocument(const char* name) {
  return Status::Io(std::string("it is no ") + name);
}

}  // namespace

std::string S3ChecksumName(ChecksumKind kind) {
  std::string name(NameOf(kind));
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
  return name;
}

S3ErrorBody ParseS3Error(std::string_view body) {
  pugi::xml_document document;
  const pugi::xml_node error = LoadXml(document, body, "Error");
  return {error.child_value("Code"), error.child_value("Message"), error.child_value("RequestId"),
          error.child_value("Region"), error.child_value("Endpoint")};
}

std::optional<std::string> ParseUploadId(std::string_view body) {
  pugi::xml_document document;
  const std::string id = LoadXml(document, body, "InitiateMultipartUploadResult").child_value("UploadId");
  return id.empty() ? std::nullopt : std::optional<std::string>(id);
}

std::optional<ObjectInfo> ParseResultBody(std::string_view body) {
  pugi::xml_document document;
  for (const char* name : {"CompleteMultipartUploadResult", "CopyObjectResult", "CopyPartResult"}) {
    if (const pugi::xml_node root = LoadXml(document, body, name)) {
      ObjectInfo info;
      info.etag = EtagOf(root.child_value("ETag"));
      info.modified = ParseIsoTime(root.child_value("LastModified")).value_or(0);
      info.checksum = ChecksumChild(root);
      return info;
    }
  }
  return std::nullopt;
}

Result<ListPage> ParseListPage(std::string_view body) {
  pugi::xml_document document;
  const pugi::xml_node root = LoadXml(document, body, "ListBucketResult");
  if (!root) {
    return NoDocument("ListBucketResult");
  }
  const KeyDecoder decode(root);
  ListPage page;
  for (const pugi::xml_node node : root.children("Contents")) {
    ASSAY_ASSIGN_OR_RETURN(ObjectInfo info, ListedObject(node, decode));
    page.objects.push_back(std::move(info));
  }
  for (const pugi::xml_node node : root.children("CommonPrefixes")) {
    ASSAY_ASSIGN_OR_RETURN(std::string prefix, decode(node.child_value("Prefix")));
    page.prefixes.push_back(std::move(prefix));
  }
  ASSAY_ASSIGN_OR_RETURN(page.next_page_token, NextPage(root, "NextContinuationToken"));
  return page;
}

Result<UploadsPage> ParseUploads(std::string_view body) {
  pugi::xml_document document;
  const pugi::xml_node root = LoadXml(document, body, "ListMultipartUploadsResult");
  if (!root) {
    return NoDocument("ListMultipartUploadsResult");
  }
  const KeyDecoder decode(root);
  UploadsPage page;
  for (const pugi::xml_node node : root.children("Upload")) {
    UnfinishedUpload upload;
    ASSAY_ASSIGN_OR_RETURN(upload.key, decode(node.child_value("Key")));
    upload.upload_id = node.child_value("UploadId");
    upload.started = ParseIsoTime(node.child_value("Initiated")).value_or(0);
    page.uploads.push_back(std::move(upload));
  }
  ASSAY_ASSIGN_OR_RETURN(const std::string next, NextPage(root, "NextKeyMarker"));
  ASSAY_ASSIGN_OR_RETURN(page.next_key, decode(next.c_str()));
  if (!page.next_key.empty()) {
    page.next_upload_id = root.child_value("NextUploadIdMarker");
  }
  return page;
}

Result<PartsPage> ParseParts(std::string_view body) {
  pugi::xml_document document;
  const pugi::xml_node root = LoadXml(document, body, "ListPartsResult");
  if (!root) {
    return NoDocument("ListPartsResult");
  }
  PartsPage page;
  for (const pugi::xml_node node : root.children("Part")) {
    UploadedPart part;
    part.number = PartNumber(node.child_value("PartNumber"));
    ASSAY_ASSIGN_OR_RETURN(part.bytes, SizeOf(node));
    part.etag = EtagOf(node.child_value("ETag"));
    part.checksum = ChecksumChild(node);
    page.parts.push_back(std::move(part));
  }
  ASSAY_RETURN_IF_ERROR(CheckParts(page.parts));
  ASSAY_ASSIGN_OR_RETURN(page.next_page, NextPage(root, "NextPartNumberMarker"));
  return page;
}

std::optional<std::vector<DeleteOutcome>> ParseDeleteResult(std::string_view body) {
  pugi::xml_document document;
  const pugi::xml_node root = LoadXml(document, body, "DeleteResult");
  if (!root) {
    return std::nullopt;
  }
  std::vector<DeleteOutcome> outcomes;
  for (const pugi::xml_node node : root.children("Deleted")) {
    outcomes.push_back({.key = node.child_value("Key"), .removed = true});
  }
  for (const pugi::xml_node node : root.children("Error")) {
    outcomes.push_back({node.child_value("Key"), false, node.child_value("Code"), node.child_value("Message")});
  }
  return outcomes;
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

std::string CreateBucketBody(const std::string& region) {
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("CreateBucketConfiguration");
  root.append_attribute("xmlns") = "http://s3.amazonaws.com/doc/2006-03-01/";
  AddText(root, "LocationConstraint", region);
  return TextOf(document);
}

bool FitsXml(std::string_view key) {
  return std::ranges::none_of(key, [](unsigned char byte) { return byte < ' '; }) &&
         key.find("\xEF\xBF\xBE") == std::string_view::npos && key.find("\xEF\xBF\xBF") == std::string_view::npos;
}

std::string DeleteBody(std::span<const std::string> keys) {
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("Delete");
  root.append_attribute("xmlns") = "http://s3.amazonaws.com/doc/2006-03-01/";
  // Told of every key, so that one that was passed over shows.
  AddText(root, "Quiet", "false");
  for (const std::string& key : keys) {
    if (FitsXml(key)) {
      AddText(root.append_child("Object"), "Key", key);
    }
  }
  return TextOf(document);
}

}  // namespace assay::storage
