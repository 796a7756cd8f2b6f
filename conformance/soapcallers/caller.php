<?php
// Calls the example's service as a partner in every way that PHP has.
// Usage: caller.php URL SECRET CA CERTIFICATE KEY. Ends with status 0 when every call was answered as it should be.
[, $url, $secret, $ca, $certificate, $key] = $argv;
ini_set('soap.wsdl_cache_enabled', '0');

const WSSE = 'http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd';
const WSU = 'http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd';
const TYPE = 'http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0#PasswordDigest';

/** The Security header with a digest, as PHP programs write it by hand. */
function digest(string $secret): SoapHeader {
    $nonce = random_bytes(16);
    $created = gmdate('Y-m-d\TH:i:s\Z');
    $sum = base64_encode(sha1($nonce . $created . $secret, true));
    $token = '<w:Security xmlns:w="' . WSSE . '" xmlns:u="' . WSU . '"><w:UsernameToken><w:Username>erp</w:Username>'
        . '<w:Password Type="' . TYPE . '">' . $sum . '</w:Password><w:Nonce>' . base64_encode($nonce) . '</w:Nonce>'
        . '<u:Created>' . $created . '</u:Created></w:UsernameToken></w:Security>';
    return new SoapHeader(WSSE, 'Security', new SoapVar($token, XSD_ANYXML), true);
}

/** Creates two posts over one client, and returns their author, or the fault's code. */
function call(array $options = [], array $ssl = [], ?string $secret = null): string {
    global $url, $ca;
    $context = stream_context_create(['ssl' => ['cafile' => $ca] + $ssl]);
    $client = new SoapClient("$url/v1/SocialService?wsdl", ['stream_context' => $context] + $options);
    try {
        for ($i = 0; $i < 2; $i++) {
            if ($secret !== null) {
                $client->__setSoapHeaders(digest($secret));
            }
            $author = $client->CreatePost(['input' => ['title' => 'T']])->result->authorId;
        }
        return $author;
    } catch (SoapFault $fault) {
        return $fault->faultcode;
    }
}

$both = tempnam(sys_get_temp_dir(), 'pem');
file_put_contents($both, file_get_contents($certificate) . file_get_contents($key));
foreach ([
    ['digest', 'acme', call(secret: $secret)],
    ['basic', 'acme', call(['login' => 'erp', 'password' => $secret])],
    ['certificate', 'acme', call(ssl: ['local_cert' => $both])],
    ['wrong digest', 'wsse:FailedAuthentication', call(secret: "x$secret")],
    ['nobody', 'soap:Client', call()],
] as [$what, $want, $got]) {
    if ($got !== $want && $got !== str_replace('soap:', '', $want)) {
        unlink($both);
        fwrite(STDERR, "$what: got $got, want $want\n");
        exit(1);
    }
}
unlink($both);
