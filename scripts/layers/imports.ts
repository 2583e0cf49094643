import ts from 'typescript'

export interface ImportEdge {
  readonly specifier: string
  readonly typeOnly: boolean
  readonly line: number
}

/** Every module a source text names: imports, re-exports, `import()`, `require()`, import types. */
export function readImports(fileName: string, text: string): ImportEdge[] {
  const source = ts.createSourceFile(fileName, text, ts.ScriptTarget.Latest, true)
  const edges: ImportEdge[] = []
  const add = (at: ts.Node, specifier: ts.Node | undefined, typeOnly: boolean): void => {
    if (specifier === undefined || !ts.isStringLiteralLike(specifier)) return
    const line = source.getLineAndCharacterOfPosition(at.getStart(source)).line + 1
    edges.push({ specifier: specifier.text, typeOnly, line })
  }
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) add(node, node.moduleSpecifier, isTypeImport(node))
    else if (ts.isExportDeclaration(node)) add(node, node.moduleSpecifier, isTypeExport(node))
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      add(node, node.argument.literal, true)
    } else if (ts.isCallExpression(node) && loadsModule(node)) add(node, node.arguments[0], false)
    ts.forEachChild(node, visit)
  }
  visit(source)
  return edges
}

function isTypeImport(node: ts.ImportDeclaration): boolean {
  const clause = node.importClause
  if (clause === undefined) return false
  if (clause.phaseModifier === ts.SyntaxKind.TypeKeyword) return true
  const named = clause.namedBindings
  if (clause.name !== undefined || named === undefined || !ts.isNamedImports(named)) return false
  return named.elements.length > 0 && named.elements.every((element) => element.isTypeOnly)
}

function isTypeExport(node: ts.ExportDeclaration): boolean {
  if (node.isTypeOnly) return true
  const named = node.exportClause
  if (named === undefined || !ts.isNamedExports(named)) return false
  return named.elements.length > 0 && named.elements.every((element) => element.isTypeOnly)
}

function loadsModule(node: ts.CallExpression): boolean {
  if (node.expression.kind === ts.SyntaxKind.ImportKeyword) return true
  return ts.isIdentifier(node.expression) && node.expression.text === 'require'
}
