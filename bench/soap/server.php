<?php
// Serves the baseline that is written in PHP: SoapServer on the service's own
// WSDL, for PHP's web server. The variables WSDL and RECORDS name its files; new
// posts are appended to a file beside the records, which nothing makes durable.
class Service
{
    public function __construct(private array $users, private string $log) {}

    public function GetUser($in): array
    {
        return ['result' => $this->users[$in->id]];
    }

    public function CreatePost($in): array
    {
        $at = gmdate('Y-m-d\TH:i:s\Z');
        $post = ['id' => bin2hex(random_bytes(16))] + (array) $in->input + ['tags' => ['item' => []], 'createdAt' => $at, 'updatedAt' => $at];
        file_put_contents($this->log, json_encode($post) . "\n", FILE_APPEND);
        return ['result' => $post];
    }
}

$server = new SoapServer(getenv('WSDL'), ['cache_wsdl' => WSDL_CACHE_BOTH]);
$server->setObject(new Service(require getenv('RECORDS'), getenv('RECORDS') . '.posts'));
$server->handle();
