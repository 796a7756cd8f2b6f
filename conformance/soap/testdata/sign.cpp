// Signs calls with gSOAP's plugin for WS-Security, by classes that wsdl2h and
// soapcpp2 made from the WSDL, and checks the signatures of the answers.
// Usage: sign URL KEY CERT SERVICE-CERT.
#include "SocialServiceSoap.nsmap"
#include "soapSocialServiceSoapProxy.h"

#include "plugin/wsseapi.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>

static void check(bool good, const char *what) {
  if (!good) {
    std::cerr << what << "\n";
    exit(1);
  }
}

static FILE *open(const char *name) {
  FILE *f = fopen(name, "r");
  check(f, name);
  return f;
}

static EVP_PKEY *key;
static X509 *cert;

// sign has the next message signed: its Body and its Timestamp.
static void sign(struct soap *soap) {
  soap_wsse_delete_Security(soap);
  check(soap_wsse_add_Timestamp(soap, "Time", 300) == SOAP_OK &&
            soap_wsse_add_BinarySecurityTokenX509(soap, "X509Token", cert) == SOAP_OK &&
            soap_wsse_add_KeyInfo_SecurityTokenReferenceX509(soap, "#X509Token") == SOAP_OK &&
            soap_wsse_sign_body(soap, SOAP_SMD_SIGN_RSA_SHA256, key, 0) == SOAP_OK,
        "the message cannot be signed");
}

int main(int argc, char **argv) {
  check(argc == 5, "usage: sign URL KEY CERT SERVICE-CERT");
  FILE *f = open(argv[2]);
  key = PEM_read_PrivateKey(f, NULL, NULL, NULL);
  fclose(f);
  f = open(argv[3]);
  cert = PEM_read_X509(f, NULL, NULL, NULL);
  fclose(f);
  f = open(argv[4]);
  EVP_PKEY *service = X509_get_pubkey(PEM_read_X509(f, NULL, NULL, NULL));
  fclose(f);

  struct soap *soap = soap_new1(SOAP_C_UTFSTRING | SOAP_XML_CANONICAL);
  soap_register_plugin(soap, soap_wsse);
  soap_wsse_verify_auto(soap, SOAP_SMD_VRFY_RSA_SHA256, service, 0);
  SocialServiceSoapProxy s(soap);
  s.soap_endpoint = argv[1];

  _ns1__CreatePost create;
  create.soap_default(soap);
  create.input = soap_new_ns1__CreatePostInput(soap, -1);
  create.input->title = soap_strdup(soap, "Fish & <chips> é");
  _ns1__CreatePostResponse created;
  sign(soap);
  if (s.CreatePost(&create, created) != SOAP_OK) {
    s.soap_stream_fault(std::cerr);
    return 1;
  }
  check(soap_wsse_verify_body(soap) == SOAP_OK, "the Body of the answer is not signed");
  check(created.result && !strcmp(created.result->title, "Fish & <chips> é"), "the post has another title");

  _ns1__GetPost get;
  get.soap_default(soap);
  get.id = created.result->id;
  _ns1__GetPostResponse got;
  sign(soap);
  if (s.GetPost(&get, got) != SOAP_OK) {
    s.soap_stream_fault(std::cerr);
    return 1;
  }
  check(soap_wsse_verify_body(soap) == SOAP_OK, "the Body of the answer is not signed");
  check(got.result && !strcmp(got.result->title, "Fish & <chips> é"), "the post has another title");
  std::cout << "signed and checked\n";
  return 0;
}
